"""From a found chain to a task that its calls can answer; a stage lets through what it finds nothing against.

Source: ASTRA sec. 2.1.2 (dependency verification) and prompt 1 of appendix A.3. Code decides first, a judge
what code leaves open, and where chains are executed, the tools themselves. Knows chains, documents and
models; how chains are found and what becomes of tasks afterwards is others'. Imported by the pipeline of its
package. To read in this order: ``shown_chain``, ``query``, ``writing``; ``results``, ``arguments``,
``support``, ``dependency``; ``coherence``, ``back_translation``; ``binding``, ``spoken``, ``purposes``,
``told``, ``filling``, ``execution``.
"""

"""Do the identifying arguments identify? Other values are put into gold calls, and results compared.

Knows the player and the verdict; only the acceptance imports it. In reading order: ``results`` (what a result
says beside its arguments), ``cases`` (other values of one argument), ``perturbation`` (other values lose the
answer), ``own_results`` (they have results of their own), ``options`` (beside every option), ``parts`` (of
lists and objects), ``likeness`` (values of the same shape), ``walks`` (from other records to the right one).
"""

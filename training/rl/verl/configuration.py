"""A run in verl's own words: overrides of its configuration, and the composition by its own checks."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from astra_mcp.errors import ConfigError
from training.rl.core.policy import PolicyLimits
from training.rl.verl.settings import VerlSettings

__all__ = ["AGENT", "CHECKPOINTS", "STOP", "TRAINER", "Places", "compose", "overrides_of"]

AGENT = "astra_mcp"
"""Our agent loop's name, as in the rows of ``export rl``."""
TRAINER = "astra_mcp"
CHECKPOINTS = "checkpoints"
STOP = "stop"
"""A file in the run's folder; where it is, the step under way is the last one."""
_PACKAGE = "training.rl.verl"
_ROLLOUT = "actor_rollout_ref.rollout"
_ACTOR = "actor_rollout_ref.actor"
_MODEL = "actor_rollout_ref.model"
_REF = "actor_rollout_ref.ref"


class Places:
    """The files by which the processes of a run find what they do, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.plan = folder / "plan.json"
        self.held_out = folder / "held_out.json"
        self.agents = folder / "agents.yaml"


def overrides_of(
    settings: VerlSettings, limits: PolicyLimits, places: Places, model: str
) -> list[str]:
    """Say a run in overrides of ``ppo_trainer``, as Hydra writes them.

    Args:
        settings: Of the run.
        limits: Of each episode.
        places: Files of the run.
        model: Where it is.
    """
    said = [(f"{_MODEL}.path", model), *_all(settings, limits, places)]
    return [*(f"{key}={_written(value)}" for key, value in said), *settings.verl.overrides]


def compose(overrides: Sequence[str]) -> Any:
    """Compose verl's configuration, and have verl check it; needs verl.

    Raises:
        ConfigError: verl refuses it; says why.
    """
    from hydra import compose as compose_config  # noqa: PLC0415 - of the extra
    from hydra import initialize_config_module  # noqa: PLC0415
    from hydra.errors import HydraException  # noqa: PLC0415
    from verl.trainer.ppo.utils import need_critic, need_reference_policy  # noqa: PLC0415
    from verl.utils.config import validate_config  # noqa: PLC0415

    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = compose_config("ppo_trainer", overrides=[*overrides])
        validate_config(
            config=config,
            use_reference_policy=need_reference_policy(config),
            use_critic=need_critic(config),
        )
    except (HydraException, AssertionError, ValueError) as error:
        raise ConfigError(f"verl does not take its configuration: {error}") from None
    _check_correction(config)
    _check_learning(config)
    return config


def _check_correction(config: Any) -> None:
    """Refuse to train by what help sampled, of which the policy's own log-probabilities are not known."""
    correction, sampler = config.algorithm.rollout_correction, config.trainer.v1.sampler
    if correction and correction.bypass_mode and sampler.sampler_kwargs.num_helped:
        raise ConfigError(
            "verl.overrides: algorithm.rollout_correction.bypass_mode trains by log-probabilities as they"
            " were sampled, and those of members with demonstrations or hints are not the policy's own:"
            " leave it out, or signals"
        )


def _check_learning(config: Any) -> None:
    """Refuse phases of supervision where what learns is not what our worker knows."""
    model, strategy = config.actor_rollout_ref.model, config.actor_rollout_ref.actor.strategy
    if not config.trainer.v1.sampler.sampler_kwargs.is_supervised:
        return
    if strategy != "fsdp2":
        raise ConfigError(
            f"verl.overrides: signals.schedule needs actor_rollout_ref.actor.strategy=fsdp2, and it is"
            f" {strategy}: leave one of them out"
        )
    if model.lora_rank or model.lora.get("rank", 0) or model.get("lora_adapter_path"):
        raise ConfigError(
            "verl.overrides: phases of supervision learn all weights, not those of an adapter: leave LoRA"
            " out, or signals.schedule"
        )


def _all(
    settings: VerlSettings, limits: PolicyLimits, places: Places
) -> Iterator[tuple[str, object]]:
    yield from _of_algorithm(settings)
    yield from _of_data(settings, limits, places)
    yield from _of_model(settings)
    yield from _of_actor(settings)
    yield from _of_rollout(settings, limits, places)
    yield from _of_trainer(settings, places)
    yield from _of_cpu(settings) if settings.verl.device == "cpu" else _of_gpu(settings)


def _of_algorithm(settings: VerlSettings) -> Iterator[tuple[str, object]]:
    yield "algorithm.adv_estimator", "grpo"
    yield "algorithm.norm_adv_by_std_in_grpo", True
    yield "algorithm.use_kl_in_reward", False


def _of_data(
    settings: VerlSettings, limits: PolicyLimits, places: Places
) -> Iterator[tuple[str, object]]:
    yield "data.train_files", str(places.plan)
    yield "data.val_files", str(places.held_out)
    yield "data.custom_cls.path", f"pkg://{_PACKAGE}.dataset"
    yield "data.custom_cls.name", "PlannedRows"
    if not settings.validation.environments:
        # verl makes batches of what is held out even where nothing is.
        yield "data.val_batch_size", 1
    yield "data.train_batch_size", settings.training.groups
    yield "data.shuffle", False
    yield "data.dataloader_num_workers", 0
    yield "data.max_prompt_length", min(limits.prompt_tokens, limits.context_tokens)
    yield "data.max_response_length", min(limits.response_tokens, limits.context_tokens)


def _of_model(settings: VerlSettings) -> Iterator[tuple[str, object]]:
    yield f"{_MODEL}.enable_gradient_checkpointing", settings.verl.gradient_checkpointing


def _of_actor(settings: VerlSettings) -> Iterator[tuple[str, object]]:
    training, objective, laid_out = settings.training, settings.objective, settings.verl
    yield f"{_ACTOR}.strategy", "fsdp2"
    yield f"{_ACTOR}.fsdp_config.strategy", "fsdp2"
    yield f"{_ACTOR}.fsdp_config.param_offload", laid_out.offload
    yield f"{_ACTOR}.fsdp_config.optimizer_offload", laid_out.offload
    yield f"{_ACTOR}.fsdp_config.seed", settings.seed % 2**31
    yield f"{_ACTOR}.ulysses_sequence_parallel_size", laid_out.sequence_parallel
    yield f"{_ACTOR}.optim.lr", training.learning_rate
    yield f"{_ACTOR}.optim.betas", [*training.betas]
    yield f"{_ACTOR}.optim.weight_decay", training.weight_decay
    yield f"{_ACTOR}.optim.clip_grad", training.clip_norm
    yield f"{_ACTOR}.grad_clip", training.clip_norm
    yield f"{_ACTOR}.ppo_mini_batch_size", training.groups // training.mini_batches
    size = settings.episodes_at_once
    yield f"{_ACTOR}.ppo_micro_batch_size_per_gpu", size
    yield f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu", size
    yield f"{_REF}.log_prob_micro_batch_size_per_gpu", size
    yield f"{_ACTOR}.loss_agg_mode", "token-mean"
    yield f"{_ACTOR}.entropy_coeff", objective.entropy_weight
    for name in ("clip_ratio", "clip_ratio_low", "clip_ratio_high"):
        yield f"{_ACTOR}.{name}", objective.clip
    yield f"{_ACTOR}.use_kl_loss", objective.kl != "none"
    yield f"{_ACTOR}.kl_loss_coef", objective.kl_weight
    yield f"{_ACTOR}.kl_loss_type", "low_var_kl"
    yield f"{_ACTOR}.checkpoint.save_contents", ["model", "optimizer", "extra", "hf_model"]


def _of_rollout(
    settings: VerlSettings, limits: PolicyLimits, places: Places
) -> Iterator[tuple[str, object]]:
    yield f"{_ROLLOUT}.n", settings.training.group_size
    yield f"{_ROLLOUT}.tensor_model_parallel_size", settings.verl.tensor_parallel
    yield f"{_ROLLOUT}.max_model_len", limits.context_tokens
    yield f"{_ROLLOUT}.calculate_log_probs", True
    yield f"{_ROLLOUT}.multi_turn.enable", True
    yield f"{_ROLLOUT}.agent.num_workers", settings.verl.workers
    yield f"{_ROLLOUT}.agent.default_agent_loop", AGENT
    yield f"{_ROLLOUT}.agent.agent_loop_config_path", str(places.agents)
    yield f"+{_ROLLOUT}.agent.agent_loop_manager_class", f"{_PACKAGE}.workers.EpisodeManager"
    yield "reward.num_workers", 1


def _of_trainer(settings: VerlSettings, places: Places) -> Iterator[tuple[str, object]]:
    filling, has_held_out = settings.filling, bool(settings.validation.environments)
    yield "trainer.v1.trainer_mode", TRAINER
    yield "trainer.v1.sampler.max_off_policy_threshold", None
    yield "trainer.v1.sampler.custom_sampler.path", f"pkg://{_PACKAGE}.filling"
    yield "trainer.v1.sampler.custom_sampler.name", "FilledBatches"
    sampler = "trainer.v1.sampler.sampler_kwargs"
    yield f"+{sampler}.plan", str(places.plan)
    yield f"+{sampler}.num_groups", settings.training.groups
    yield f"+{sampler}.group_size", settings.training.group_size
    yield f"+{sampler}.num_helped", settings.signals.num_helped
    yield f"+{sampler}.is_supervised", settings.signals.is_supervised
    yield f"+{sampler}.min_spread", filling.min_spread
    yield f"+{sampler}.max_age", filling.max_age
    yield f"+{sampler}.max_refills", filling.max_refills
    yield "trainer.n_gpus_per_node", settings.verl.devices
    yield "trainer.nnodes", 1
    yield "trainer.total_training_steps", settings.training.steps
    yield "trainer.total_epochs", 1
    yield "trainer.save_freq", settings.checkpoints.every
    yield "trainer.max_actor_ckpt_to_keep", settings.checkpoints.keep_states
    yield "trainer.default_local_dir", str(settings.out.resolve() / CHECKPOINTS)
    yield "trainer.resume_mode", "auto"
    yield "trainer.test_freq", settings.validation.every if has_held_out else -1
    yield "trainer.val_before_train", has_held_out
    yield "trainer.logger", ["file"]
    yield "trainer.project_name", "astra-mcp"
    yield "trainer.experiment_name", settings.out.name


def _of_gpu(settings: VerlSettings) -> Iterator[tuple[str, object]]:
    yield f"{_ROLLOUT}.name", "vllm"
    yield f"{_ROLLOUT}.gpu_memory_utilization", settings.verl.memory_share
    yield f"{_MODEL}.use_remove_padding", True


def _of_cpu(settings: VerlSettings) -> Iterator[tuple[str, object]]:
    yield f"{_ROLLOUT}.name", "transformers"
    yield f"{_ROLLOUT}.dtype", "float32"
    yield f"{_ROLLOUT}.free_cache_engine", False
    yield f"{_MODEL}.use_remove_padding", False
    yield f"+{_MODEL}.override_config.attn_implementation", "sdpa"
    yield f"{_ACTOR}.use_torch_compile", False
    yield f"{_ACTOR}.fsdp_config.use_torch_compile", False
    yield f"{_ACTOR}.fsdp_config.dtype", "float32"
    for part in (_ACTOR, _REF):
        for name in ("param_dtype", "reduce_dtype", "buffer_dtype"):
            # Without these verl computes in bfloat16 whatever `dtype` says.
            yield f"++{part}.fsdp_config.mixed_precision.{name}", "fp32"
    yield "trainer.device", "cpu"
    yield "transfer_queue.backend.SimpleStorage.num_data_storage_units", 1


def _written(value: object) -> str:
    """Write a value in Hydra's grammar, which takes JSON but for `null` inside of quotation marks."""
    return json.dumps(value, ensure_ascii=False)

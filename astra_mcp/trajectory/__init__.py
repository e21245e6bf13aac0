"""What one agent did in one episode, in one schema from rollout to training, and the files of it.

Knows values and files; knows neither the gateway nor an agent. Rollouts write trajectories, exports and
whoever trains read them; all of it is offered here. ``trajectory.schema.json`` is the published schema of a
line. To read in this order: ``line``, ``trajectory``, ``schema``.
"""

from astra_mcp.trajectory.line import SCHEMA_VERSION
from astra_mcp.trajectory.schema import trajectory_schema
from astra_mcp.trajectory.trajectory import (
    AgentInfo,
    AssistantMessage,
    CallNote,
    FunctionCall,
    Message,
    ModelUsage,
    RolloutBoundary,
    Seeds,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Trajectory,
    TrajectoryFailure,
    TrajectoryWriter,
    UserEnd,
    UserInfo,
    UserMessage,
    Versions,
    read_trajectories,
)

__all__ = [
    "SCHEMA_VERSION",
    "AgentInfo",
    "AssistantMessage",
    "CallNote",
    "FunctionCall",
    "Message",
    "ModelUsage",
    "RolloutBoundary",
    "Seeds",
    "StopReason",
    "SystemMessage",
    "ToolCall",
    "ToolMessage",
    "Trajectory",
    "TrajectoryFailure",
    "TrajectoryWriter",
    "UserEnd",
    "UserInfo",
    "UserMessage",
    "Versions",
    "read_trajectories",
    "trajectory_schema",
]

/* Observation and action spaces of an environment as JSON, stored in the run's directory so that its policy can be
 * loaded where the environment is not available. */
#ifndef TRAINER_BRIDGE_SPACES_H
#define TRAINER_BRIDGE_SPACES_H
#include "core/text.h"
#include "trainer/envs/bridge/bridge.h"

/* Appends the spaces as JSON. action_space: Bridge.action_space. */
void bridge_spaces_append(const BridgeSpaces *spaces, const char *action_space, CoreText *json);
/* Parses the spaces and appends the action space. CORE_FAIL: invalid JSON. Does not validate the sizes. */
int bridge_spaces_parse(const char *json, BridgeSpaces *spaces, CoreText *action_space);

#endif

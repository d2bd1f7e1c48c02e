/* Observations and actions of an environment as JSON, which a run keeps in its folder: enough to load its policy where
 * the environment cannot be made. */
#ifndef TRAINER_BRIDGE_SPACES_H
#define TRAINER_BRIDGE_SPACES_H
#include "core/text.h"
#include "trainer/envs/bridge/bridge.h"

/* Appends the spaces; action_space: Bridge.action_space. */
void bridge_spaces_append(const BridgeSpaces *spaces, const char *action_space, CoreText *json);
/* Reads them back, with the action space in `action_space`. CORE_FAIL: the text is no such JSON.
 * The numbers may be any. */
int bridge_spaces_parse(const char *json, BridgeSpaces *spaces, CoreText *action_space);

#endif

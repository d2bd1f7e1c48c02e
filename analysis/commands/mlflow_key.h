/* Keys of metrics in MLflow. */
#ifndef ANALYSIS_MLFLOW_KEY_H
#define ANALYSIS_MLFLOW_KEY_H

enum { MLFLOW_KEY_MAX = 251 }; /* MLflow allows 250 characters */

/* Copies a name (UTF-8) as MLflow allows it (mlflow/utils/validation.py): letters, digits, "_-. " and "/" between
 * names. Other characters become '_', and 8 digits of the name's hash follow, so that different names stay
 * different. */
void mlflow_key(const char *name, char key[MLFLOW_KEY_MAX]);

#endif

/* `trainer export`: exports a policy as ONNX or safetensors. */
#ifndef TRAINER_EXPORT_H
#define TRAINER_EXPORT_H

int trainer_export(int argc, char **argv);

#endif

// A model's file of a few bytes whose network is said to have 80 MB of parameters.

#ifndef DTNN_MODELS_SERVING_TESTING_OVERSTATED_MODEL_H_
#define DTNN_MODELS_SERVING_TESTING_OVERSTATED_MODEL_H_

#include <string>

namespace dtnn::testing {

// Writes it, a .safetensors file; returns the message of what reads it.
std::string SaveOverstatedModel(const std::string& path);

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_SERVING_TESTING_OVERSTATED_MODEL_H_

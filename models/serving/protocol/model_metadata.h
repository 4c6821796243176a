// What a model takes and gives, as the Open Inference Protocol says it, and as requests are
// checked.

#ifndef DTNN_MODELS_SERVING_PROTOCOL_MODEL_METADATA_H_
#define DTNN_MODELS_SERVING_PROTOCOL_MODEL_METADATA_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "models/serving/predictor.h"
#include "models/serving/protocol/input_samples.h"

namespace dtnn {

// Valid as long as the predictor is.
SampleRules RulesOf(const Predictor& predictor, int64_t max_samples);

// Also says, as parameters, what the protocol has no member for: classes and the order of axes.
std::string ModelMetadata(std::string_view model, int64_t version, const Predictor& predictor);

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_PROTOCOL_MODEL_METADATA_H_

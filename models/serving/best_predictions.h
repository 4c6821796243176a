// What an answer of a network says to a person, or a program, that asks for more than the best
// class.

#ifndef DTNN_MODELS_SERVING_BEST_PREDICTIONS_H_
#define DTNN_MODELS_SERVING_BEST_PREDICTIONS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/serving/predictor.h"

namespace dtnn {

struct Prediction {
  int64_t index = 0;  // of the output
  std::string name;   // of its class or label
  double value = 0;   // a probability, or a quantity
};

// The `top` likeliest classes or labels of one sample's outputs. With 0 the likeliest class, or all
// labels that are more likely than not. All values, in their order, whatever `top` is.
std::vector<Prediction> BestPredictions(const Predictor& predictor, std::span<const double> outputs,
                                        int64_t top);

// [{"class": "cat", "index": 3, "probability": 0.9}, ...]; values: {"name", "index", "value"}.
std::string PredictionsJson(OutputKind kind, std::span<const Prediction> predictions);

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_BEST_PREDICTIONS_H_

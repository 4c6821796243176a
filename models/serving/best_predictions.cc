#include "models/serving/best_predictions.h"

#include <algorithm>
#include <numeric>

#include "tensor/text/json_text.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::vector<Prediction> BestPredictions(const Predictor& predictor, std::span<const double> outputs,
                                        int64_t top) {
  std::vector<size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), 0);
  const OutputKind kind = predictor.output_kind();
  if (kind != OutputKind::kValues) {
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return outputs[a] > outputs[b]; });
    size_t count = size_t(top);
    if (count == 0 && kind == OutputKind::kLabels) {
      count = size_t(std::ranges::count_if(outputs, [](double p) { return p > 0.5; }));
    } else if (count == 0) {
      count = 1;
    }
    order.resize(std::min(order.size(), count));
  }
  std::vector<Prediction> best;
  for (const size_t index : order) {
    best.push_back({int64_t(index), predictor.ClassName(int64_t(index)), outputs[index]});
  }
  return best;
}

std::string PredictionsJson(OutputKind kind, std::span<const Prediction> predictions) {
  const bool values = kind == OutputKind::kValues;
  std::string json = "[";
  for (const Prediction& prediction : predictions) {
    json +=
        StrCat(json.size() > 1 ? ", " : "",
               values ? "{\"name\": " : "{\"class\": ", JsonText(prediction.name),
               ", \"index\": ", prediction.index,
               values ? ", \"value\": " : ", \"probability\": ", JsonNumber(prediction.value), "}");
  }
  return json + "]";
}

}  // namespace dtnn

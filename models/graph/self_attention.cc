#include <cmath>

#include "models/graph/builder.h"

namespace dtnn {

GraphBuilder& GraphBuilder::SelfAttention(const SelfAttentionOptions& options) {
  const Shape image = current();
  if (image.rank() != 3) return Scores({Identity(), Identity()});  // says what is wrong
  const int64_t channels = ExtentsOf(image, graph_.format()).channels;
  const int64_t of_keys = options.key_channels == 0 ? channels : options.key_channels,
                of_values = options.value_channels == 0 ? channels : options.value_channels;
  const double depth = double(of_keys) / double(options.heads);
  const ScoresOptions scores = {
      .heads = options.heads,
      .factor = options.factor == 0 ? 1 / std::sqrt(depth) : options.factor};
  const auto projection = [&](int64_t filters) -> Path {
    const Conv2dOptions conv = {.kernel = 1, .bias = options.bias};
    return [=](GraphBuilder& p) { p.Conv2d(filters, conv); };
  };
  const Path weights = [&](GraphBuilder& p) {
    p.Scores({projection(of_keys), projection(of_keys)}, scores).GroupSoftmax(scores.heads);
  };
  return Add({Identity(), [&](GraphBuilder& p) {
                p.WeightedSum({weights, projection(of_values)}, scores.heads);
                projection(channels)(p);
              }});
}

}  // namespace dtnn

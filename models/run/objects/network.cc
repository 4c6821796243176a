#include "models/run/objects/network.h"

#include "models/zoo/zoo.h"

namespace dtnn {

Network Network::Zoo(std::string name, const Dataset& data) {
  Network network(name);
  network.build_ = [name = std::move(name), sample = data.sample(), outputs = data.outputs()](
                       TensorFormat format, const Loss& loss) {
    return BuildModel(name, {.format = format,
                             .sample = sample,
                             .classes = outputs,
                             .final_activation = loss.final_activation()});
  };
  return network;
}

Network& Network::Then(Path steps) {
  steps_.push_back(std::move(steps));
  return *this;
}

absl::StatusOr<Graph> Network::Build(TensorFormat format, const Loss& loss) const {
  if (build_ != nullptr) {
    if (!steps_.empty()) {
      return absl::InvalidArgumentError(
          "network " + name_ + " comes from the zoo and is complete: no layers can be appended");
    }
    return build_(format, loss);
  }
  GraphBuilder builder(name_, format);
  for (const Path& step : steps_) step(builder);
  return builder.Build();
}

}  // namespace dtnn

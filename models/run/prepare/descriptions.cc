#include "models/run/prepare/descriptions.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "data/loading/loader.h"
#include "kernels/device/device_traits.h"
#include "models/run/options/in_force.h"
#include "models/run/parts/make_trainer_options.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

std::string DescribeSamples(const Dataset& dataset, const Loaders& loaders) {
  std::vector<std::string> parts;
  if (loaders.training != nullptr) {
    parts.push_back(StrCat(loaders.training->samples(), " to train on in ",
                           Counted(loaders.training->steps(), "step")));
  }
  if (loaders.validation != nullptr) {
    parts.push_back(StrCat(loaders.validation->samples(), " to validate on"));
  }
  if (loaders.test != nullptr) parts.push_back(StrCat(loaders.test->samples(), " to test"));
  return StrCat("**** Samples of ", ToString(dataset.sample()), ": ", absl::StrJoin(parts, ", "),
                "; ",
                dataset.target_kind() == TargetKind::kValues
                    ? Counted(dataset.outputs(), "value") + " each"
                    : StrCat(Counted(dataset.outputs(), "class", "classes"),
                             dataset.target_kind() == TargetKind::kPixels ? " of pixels" : ""),
                "\n");
}

std::string DescribeLoaders(const Loaders& loaders) {
  const Loader* any = loaders.test != nullptr ? loaders.test.get() : loaders.training.get();
  if (any == nullptr) return "";
  const LoaderOptions& options = any->options();
  std::string text = StrCat("**** Loaders: ", Counted(options.threads, "thread"), ", ",
                            Counted(options.prefetch, "batch", "batches"), " ahead, of ",
                            Counted(options.batch, "sample"));
  if (options.bytes) StrAppend(&text, ", as bytes, which the GPU prepares");
  if (!loaders.why_values.empty()) {
    StrAppend(&text, ", prepared by the CPU, as ", loaders.why_values);
  }
  return text + "\n";
}

std::string DescribeKernels(const Graph& graph, const RunOptions& options, Device device) {
  std::map<std::string, int> layers;
  for (const Node& node : graph.nodes()) ++layers[std::string(node.layer->type_name())];
  std::vector<std::string> counts;
  for (const auto& [type, count] : layers) counts.push_back(StrCat(count, " ", type));
  const DeviceTraits traits = TraitsOf(device);
  std::string text =
      StrCat("**** Kernels: ",
             options.device.math_mode == MathMode::kFp32 ? Name(ElementTypeOf(options))
                                                         : Name(options.device.math_mode),
             ", ", Name(graph.format()));
  if (!traits.instructions.empty()) StrAppend(&text, ", ", traits.instructions);
  if (traits.chooses_convolutions) {
    StrAppend(&text, ", convolutions by ",
              options.convolution.best_of ? "timing" : ConvVariantOf(options));
  }
  return StrCat(text, "; layers: ", absl::StrJoin(counts, ", "), "\n");
}

std::string DescribeWaiting(const Loaders& loaders, double seconds) {
  double waited = 0;
  for (const Loader* loader : {loaders.training.get(), loaders.validation.get()}) {
    if (loader != nullptr) waited += loader->seconds_waited();
  }
  return absl::StrFormat("**** Waited for data: %.2f s, %.1f %% of the time\n", waited,
                         seconds > 0 ? std::min(100.0, 100 * waited / seconds) : 0.0);
}

}  // namespace dtnn

// The parameters of a network in a file: saved, and loaded into a network of either tensor format
// and dtype.
//
// Files are .npz or .safetensors by the ending of their name, with one array per parameter under
// the key Graph::WeightKey, "<id>_<Layer>_<parameter>", and the texts __format__ ("NHWC", "NCHW"),
// __model__, __dtype__ and, if known, __preprocessing__ (data/preprocessing.h). Files of other
// programs have no such tags: their format is given by WeightsFormat or follows from the shapes; if
// both formats fit, it is the network's own. weights_layout.h says what is converted. Biases of
// shape (1, C, 1, 1), as the original system's GPU code wrote them, are read; the lists of pickled
// Python objects of its later versions are not.
//
// Loading changes nothing unless the whole file is valid; NaN and infinity are not. Errors name the
// file, the key, the layer, what the file has and what the network needs.

#ifndef DTNN_MODELS_PARAMETERS_WEIGHTS_H_
#define DTNN_MODELS_PARAMETERS_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/parameters/weights_layout.h"
#include "tensor/files/array_file.h"
#include "tensor/files/named_tensors.h"

namespace dtnn {

inline constexpr std::string_view kPreprocessingTag = "__preprocessing__";

enum class WeightsFormat : uint8_t { kAuto, kNHWC, kNCHW };  // of a file without tags
// Any case; nullopt for other words than auto, NHWC and NCHW.
std::optional<WeightsFormat> ParseWeightsFormat(std::string_view name);

struct LoadWeightsOptions {
  WeightsFormat format = WeightsFormat::kAuto;
  // Parameters that the file does not have, or has in another shape (such as those of a last layer
  // for other classes), keep their values, and warnings name them. An error if nothing in the file
  // fits.
  bool partial = false;
};

// What was loaded, for those who want to tell.
struct LoadedWeights {
  int64_t parameters = 0;  // arrays
  int64_t wanted = 0;      // that the network has
  WeightsLayout layout = WeightsLayout::kNHWC;
  std::optional<std::string> preprocessing;  // that text, as it is
  std::vector<std::string> warnings;         // about the file, each naming it
};

absl::StatusOr<LoadedWeights> LoadWeights(std::string_view path, const Graph& graph,
                                          ParameterStore& store, DeviceContext& context,
                                          const LoadWeightsOptions& options = {});

// All of the file or nothing. `values`: others than those of the store, laid out as its
// all_values(). `tags`: further texts.
absl::Status SaveWeights(std::string_view path, const Graph& graph, const ParameterStore& store,
                         DeviceContext& context, const Tensor& values = {},
                         const NamedTexts& tags = {});

// Whether SaveWeights can write there, and over what is there (tensor/files/output_file.h):
// nothing, or weights, a model or a checkpoint of this library.
absl::Status CheckWeightsOutput(std::string_view path);

// The same in two steps, for files that contain more than weights: the contents of a file, checked
// and converted, to be applied when all other checks have passed too.
class StagedWeights {
 public:
  static absl::StatusOr<StagedWeights> Read(ArrayFileReader& file, const Graph& graph,
                                            const ParameterStore& store, DeviceContext& context,
                                            const LoadWeightsOptions& options);
  absl::Status Apply(ParameterStore& store, DeviceContext& context) const;
  const LoadedWeights& loaded() const { return loaded_; }

 private:
  static absl::StatusOr<StagedWeights> ReadArrays(ArrayFileReader& file, const Graph& graph,
                                                  const ParameterStore& store,
                                                  DeviceContext& context,
                                                  const LoadWeightsOptions& options);

  Tensor values_;  // on the host, laid out as ParameterStore::all_values
  LoadedWeights loaded_;
};

// Whether a file has parameters under PyTorch's names ("conv1.weight"), as a state_dict has them.
bool HasTorchNames(const ArrayFileReader& file);
// What to do with such a file, after "it has ...".
inline constexpr std::string_view kTorchNamesAdvice =
    "weights of PyTorch, by their names; the program import makes a model of them";

// The texts that such a file carries, and `more`.
NamedTexts WeightTags(const Graph& graph, const ParameterStore& store, const NamedTexts& more = {});

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_WEIGHTS_H_

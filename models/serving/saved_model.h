// A model in a file, with everything that is needed to use it: a file of weights
// (models/parameters/weights.h) with these texts in addition to the usual ones:
//
//   __network__         the network (models/graph/network.h)
//   __preprocessing__   what it was shown of an image (data/preprocessing.h)
//   __description__     the names of its classes, its loss, how it was trained (saved_model.proto)
//   __quantization__    what inference in 8 bits needs (models/quantization/quantization_record.h);
//                       not in all files
//
// The network, the description and the quantization are in protobuf's text format. Files are not
// trusted: messages name the file, the text and what is wrong with it.

#ifndef DTNN_MODELS_SERVING_SAVED_MODEL_H_
#define DTNN_MODELS_SERVING_SAVED_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/preprocessing.h"
#include "kernels/device/context.h"
#include "layers/table/layer_table.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/fusion.h"
#include "models/quantization/quantization_record.h"
#include "tensor/dtype.h"
#include "tensor/files/array_file.h"
#include "tensor/files/named_tensors.h"
#include "tensor/tensor.h"

namespace dtnn {

inline constexpr std::string_view kNetworkTag = "__network__";
inline constexpr std::string_view kDescriptionTag = "__description__";
inline constexpr std::string_view kQuantizationTag = "__quantization__";

struct TrainingRecord {
  std::string dataset = {};
  int64_t epochs = 0;      // after which the run had these parameters
  int64_t run_epochs = 0;  // that the run had, where it brought back earlier parameters; else 0
  std::string optimizer = {};
  std::map<std::string, double, std::less<>> constants = {};  // Optimizer::constants
  double learning_rate = 0;                                   // that it began with
  std::vector<std::pair<std::string, double>> metrics = {};   // of the last of `epochs`, by name;
                                                              // on the test data after "test_"
  NamedTexts identity = {};  // what else decided them (models/checkpoint/run_identity.h)
  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;
};

struct ModelDescription {
  std::vector<std::string> class_names = {};  // one per output; empty if not known
  std::string loss = {};
  // How training evaluated it: with others, sums are rounded in other places.
  std::string conv_variant = "auto";
  Fusions fusions = {};
  TrainingRecord training = {};
  std::string written_by = {};  // "DTNN 0.1.0"; empty in files of older versions
  friend bool operator==(const ModelDescription&, const ModelDescription&) = default;
};

struct SavedModel {
  Graph graph;
  DType dtype = DType::kFloat32;
  Preprocessing preprocessing = {};
  ModelDescription description = {};
  std::optional<QuantizationRecord> quantization = {};
};

// The texts above, for writers of files of weights. `dtype` does not count: such files say it.
NamedTexts ModelTags(const SavedModel& model);

// InvalidArgument for a text that is longer than ReadModel takes: of very many long class names.
absl::Status CheckModelTags(const NamedTexts& tags);

// Writes the parameters of `store`, or `values`, laid out as its all_values(), with those texts.
// All of the file or nothing. Errors: those of CheckModelTags and of the file.
absl::Status SaveModel(std::string_view path, const SavedModel& model, const ParameterStore& store,
                       DeviceContext& context, const Tensor& values = {});

// Whether the file says of which network it is. Errors are those of a damaged file.
absl::StatusOr<bool> HoldsModel(ArrayFileReader& file);

// The text __description__. InvalidArgument where it names classes, and not one for each of
// `outputs`.
absl::StatusOr<ModelDescription> ParseDescription(const std::string& text, int64_t outputs);

// What a file of a model or a checkpoint says of its training, whatever network reads it; nullopt:
// it has parameters only.
absl::StatusOr<std::optional<ModelDescription>> FindDescription(ArrayFileReader& file);

// All but the parameters. FailedPrecondition for a file without a network, InvalidArgument for
// invalid texts. `table`: the layers that the network may have.
absl::StatusOr<SavedModel> ReadModel(ArrayFileReader& file,
                                     const LayerTable& table = BuiltInLayers());

}  // namespace dtnn

#endif  // DTNN_MODELS_SERVING_SAVED_MODEL_H_

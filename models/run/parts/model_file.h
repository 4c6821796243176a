// The description of a run's model in the files that it writes, and what a run takes from a model
// file that it starts from (models/serving/saved_model.h).

#ifndef DTNN_MODELS_RUN_PARTS_MODEL_FILE_H_
#define DTNN_MODELS_RUN_PARTS_MODEL_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/loading/open_dataset.h"
#include "data/normalize.h"
#include "models/graph/graph.h"
#include "models/run/options/run_options.h"
#include "models/serving/saved_model.h"

namespace dtnn {

// What errors of the file that a run begins with say first.
inline constexpr std::string_view kWeightsOption = "RunOptions::network.weights";

// output.model: its name's ending, and whether it can be written.
absl::Status CheckModelFile(const std::string& path);

// All that options and data say: the caller adds what the run came to, and the rate and constants
// that it has.
ModelDescription DescribeModel(const RunOptions& options, const Dataset& dataset);

// Options of a run that continues with the model in a file: network.weights, and the loss, the
// optimizer and the learning rate that it was trained with, where the file names them.
// InvalidArgument for constants that no optimizer has.
absl::StatusOr<RunOptions> OptionsOfModel(const std::string& path);
// The model in the file of network.weights, for a run without network.name. A usage error
// where the file holds parameters only.
absl::StatusOr<SavedModel> ReadModelToRun(const std::string& path);
// What its network takes or, where training cropped or resized samples of its data set's own size,
// what they were before; nothing without a model.
std::optional<ImageExtents> SampleOf(const std::optional<SavedModel>& model);
// RunOptions that are not set get the model's values: geometry, format, element type and loss,
// which its outputs are made for. A usage error where its loss is not one of training.loss.
absl::Status FollowModel(const SavedModel& model, RunOptions& options);
// Its network, in the run's format. InvalidArgument that names the file and both sizes where the
// samples or outputs of `data` are others; nullopt: they are not known.
absl::StatusOr<Graph> NetworkFor(const SavedModel& model, const RunOptions& options,
                                 const std::optional<DatasetSize>& data);
// How loaders must normalise the samples of the data set, so that the network gets the same input
// as in training; nothing if options say it.
std::optional<Normalization> NormalizationFor(const SavedModel& model, const RunOptions& options,
                                              const Dataset& dataset);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MODEL_FILE_H_

// What a run says of its model in the files that it writes, and what it takes from the file of a
// model that it begins with (models/serving/saved_model.h).

#ifndef DTNN_APPS_LAUNCHER_MODEL_FILE_H_
#define DTNN_APPS_LAUNCHER_MODEL_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "data/dataset.h"
#include "data/normalization/normalize.h"
#include "models/graph/graph.h"
#include "models/serving/saved_model.h"

namespace dtnn {

// --save-model: its name's ending, and whether it can be written.
absl::Status CheckModelFile(const std::string& path);

// All that does not change while the run trains: the caller adds the epochs and the metrics.
ModelDescription DescribeModel(const Options& options, const Dataset& dataset);

// The model in the file of --weights-and-bias-filename, for a run without --model. A usage error
// where the file holds parameters only.
absl::StatusOr<SavedModel> ReadModelToRun(const std::string& path);
// What the model was trained with goes into those options that have their defaults: geometry,
// format and element type, and in runs that only evaluate the loss.
void FollowModel(const SavedModel& model, Options& options);
// Its network, in the run's format. InvalidArgument that names `path` and both where the data set's
// samples or outputs are others.
absl::StatusOr<Graph> NetworkFor(const SavedModel& model, const std::string& path,
                                 const Options& options, const Dataset& dataset);
// How loaders have to normalise what the data set gives, so that the network sees what it saw in
// training; nothing where options say it.
std::optional<Normalization> NormalizationFor(const SavedModel& model, const Options& options,
                                              const Dataset& dataset);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_MODEL_FILE_H_

#include "models/run/initial_weights.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "data/preprocessing.h"
#include "models/parameters/weights.h"
#include "models/run/parts/model_file.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

// Parameters that were trained on images shown otherwise are far worse here.
void WarnOfPreprocessing(const PreparedRun& run, const LoadedWeights& loaded, RunLog& log) {
  const std::string& path = run.options.network.weights;
  if (!loaded.preprocessing) return;
  const int64_t channels = run.dataset->sample().channels;
  const absl::StatusOr<Preprocessing> trained = ParsePreprocessing(*loaded.preprocessing, channels);
  if (!trained.ok()) return log.Warn(StrCat(path, ": ", trained.status().message()));
  if (SamePreprocessing(*trained, run.loaders.preprocessing, channels)) return;
  log.Warn(StrCat(
      path, ": was trained on samples that are preprocessed in another way (", Describe(*trained),
      ") than those of this run (", Describe(run.loaders.preprocessing),
      "); see RunOptions::data.normalize, RunOptions::data.standardize, "
      "RunOptions::data.center_square, RunOptions::data.center_crop, RunOptions::data.resize"));
}

}  // namespace

absl::Status LoadInitialWeights(const PreparedRun& run, ParameterStore& store, RunLog& log) {
  const std::string& path = run.options.network.weights;
  if (path.empty()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(
      const LoadedWeights loaded,
      WithContext(LoadWeights(path, run.graph, store, *run.context,
                              {.format = *ParseWeightsFormat(run.options.network.weights_format),
                               .partial = run.options.network.weights_partial}),
                  kWeightsOption));
  for (const std::string& warning : loaded.warnings) log.Warn(warning);
  WarnOfPreprocessing(run, loaded, log);
  log.Log(StrCat("**** Loaded ", loaded.parameters, " of ", Counted(loaded.wanted, "array"),
                 " of weights from ", path, "\n"));
  return absl::OkStatus();
}

}  // namespace dtnn

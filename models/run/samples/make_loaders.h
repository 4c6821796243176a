// RunOptions to the loaders of a run.

#ifndef DTNN_MODELS_RUN_SAMPLES_MAKE_LOADERS_H_
#define DTNN_MODELS_RUN_SAMPLES_MAKE_LOADERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/dataset.h"
#include "data/loading/channel_statistics.h"
#include "data/loading/loader.h"
#include "data/normalize.h"
#include "data/preprocessing.h"
#include "data/transforms/transform.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// `validation` is null where nothing is held out.
struct Loaders {
  std::unique_ptr<Loader> training, validation, test;
  // What all of them show of an image, the data set's own part included.
  Preprocessing preprocessing = {};
  // For data.standardize: of the samples that are trained on, each once.
  std::optional<ChannelStatistics> statistics = {};
  LoaderOptions testing = {};  // how validation and tests are read
  // With a GPU, why the CPU prepares the values of batches; empty where they hold bytes instead.
  std::string why_values = {};
};

// Makes only what the run needs: no training data for training.evaluate_only, no test without
// evaluation. Those of one of `ranks` ranks, who call it together where there is a communicator:
// with data.standardize they agree on the statistics, and also where it fails on one.
// `normalization`: that of a model that was trained before, in place of data.normalize.
// `transforms`: of training samples, in place of data.augment.transforms.
absl::StatusOr<Loaders> MakeLoaders(const RunOptions& options,
                                    std::shared_ptr<const Dataset> dataset, int rank = 0,
                                    int ranks = 1, Communicator* communicator = nullptr,
                                    const std::optional<Normalization>& normalization = {},
                                    const TransformList& transforms = {});

// Those of a client that has these samples of the training split, ascending, in place of data.part;
// no test. Batches are read by the thread that asks for them: others train at the same time.
absl::StatusOr<Loaders> MakeClientLoaders(const RunOptions& options,
                                          std::shared_ptr<const Dataset> dataset,
                                          std::span<const int64_t> samples);
// How many of them it trains on in an epoch.
absl::StatusOr<int64_t> CountClientSamples(const RunOptions& options,
                                           std::shared_ptr<const Dataset> dataset,
                                           std::span<const int64_t> samples);

// One line about a batch size of which no step can have enough samples; empty where there is no
// such.
std::string DescribeLargeBatch(const RunOptions& options, const Loaders& loaders);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_MAKE_LOADERS_H_

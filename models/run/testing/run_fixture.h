// Short runs of a small network on generated data, for tests of runs.

#ifndef DTNN_MODELS_RUN_TESTING_RUN_FIXTURE_H_
#define DTNN_MODELS_RUN_TESTING_RUN_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/loading/open_dataset.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/serving/saved_model.h"
#include "tensor/must.h"

namespace dtnn {

using TrainingRun = Run;  // fixtures have a Run of their own

std::shared_ptr<const Dataset> Patterns(int64_t side = 6, int64_t channels = 1,
                                        const Geometry& geometry = {});
// A convolution and a fully connected layer.
Network Small(const Dataset& data);
// Without schedulers that could end it.
RunOptions Short(int64_t epochs);

std::string Message(const absl::Status& status);

class RunFixture : public ::testing::Test {
 protected:
  RunFixture();
  // A path in a folder that is empty at first.
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  std::string Read(const std::string& name) const;
  // The model of a file in it.
  SavedModel Model(const std::string& name) const;

  RunObjects Objects() const { return {.network = Small(*data_), .dataset = data_}; }
  std::unique_ptr<TrainingRun> Begin(const RunOptions& options) const {
    return Must(TrainingRun::Create(options, Objects()));
  }
  std::unique_ptr<TrainingRun> Begin(const RunOptions& options, RunObjects objects) const {
    return Must(TrainingRun::Create(options, std::move(objects)));
  }

  const std::string folder_;
  const std::shared_ptr<const Dataset> data_ = Patterns();
};

std::vector<float> Parameters(TrainingRun& run);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TESTING_RUN_FIXTURE_H_

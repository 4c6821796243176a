// Data of its own that an aggregator may have: it tests the parameters of rounds on their test
// split.

#ifndef DTNN_APPS_AGGREGATOR_TEST_DATA_H_
#define DTNN_APPS_AGGREGATOR_TEST_DATA_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "apps/aggregator/network.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_store.h"
#include "models/run/options/run_options.h"
#include "models/run/samples/make_loaders.h"
#include "models/training/step/metric_averages.h"
#include "models/training/trainer.h"

namespace dtnn {

class TestData {
 public:
  // Reads the test split. All but the options outlive it. Usage errors and InvalidArgument for data
  // that the network does not take, also in their classes.
  static absl::StatusOr<TestData> Read(const RunOptions& options, const AveragedNetwork& network,
                                       ParameterStore& store, DeviceContext& context);

  int64_t samples() const { return loaders_.test->samples(); }
  // The metrics of the parameters in the store, as simulations call them: "val_...".
  absl::StatusOr<NamedMetrics> Test();

 private:
  TestData(Loaders loaders, std::unique_ptr<Trainer> trainer)
      : loaders_(std::move(loaders)), trainer_(std::move(trainer)) {}

  Loaders loaders_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_TEST_DATA_H_

#include "models/run/parts/run_identity.h"

#include <algorithm>
#include <memory>
#include <string>

#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "gtest/gtest.h"
#include "models/run/parts/make_training.h"
#include "models/run/samples/make_dataset.h"

namespace dtnn {
namespace {

// Checkpoints of all releases have the settings of a run by their flags, with values as lists of
// options have them.
TEST(RunIdentityTest, FilesHaveThemByTheirFlags) {
  const Options options = OptionsInForce(
      ParseFlags(std::vector<std::string>{
                     "--model=simplecnn", "--dataset=synthetic", "--synthetic-input-shape=1,4,4",
                     "--synthetic-train-samples=20", "--model-dir=x", "--warm-up-batches=3",
                     "--schedulers=warm_up,early_stopping,reduce_lr_on_plateau,"
                     "reduce_lr_every_nepochs,stop_at_loss,model_checkpoint,cosine"})
          ->options);
  const std::shared_ptr<const Dataset> dataset = *MakeDataset(options);
  const RunIdentity identity = MakeRunIdentity(options, **MakeOptimizer(options), *dataset, {},
                                               *MakeLoaders(options, dataset));
  const auto check = [&](const OptionSpec& spec) {
    const IdentityMember* const member = identity.Find("--" + std::string(spec.name));
    ASSERT_NE(member, nullptr) << spec.name;
    EXPECT_EQ(member->value, FormatValue(Load(&options, spec))) << spec.name;
    EXPECT_EQ(member->what, "RunOptions::" + std::string(spec.path));
  };
  for (const char* name : {"loss-func",
                           "metrics",
                           "class-weights",
                           "validation-split",
                           "test-as-validation",
                           "dataset-percentage",
                           "dataset-part",
                           "steps-per-epoch",
                           "augment-shuffle",
                           "accumulate-steps",
                           "sync-batch-norm",
                           "model-sync-freq",
                           "model-sync-alg",
                           "gradient-compression",
                           "math-mode",
                           "global-batch-size",
                           "clip-norm",
                           "dp-sgd-clip",
                           "dp-sgd-noise",
                           "label-smoothing",
                           "model-sync-participation",
                           "model-sync-min-avail",
                           "final-model-sync"}) {
    check(*FindOption(name));
  }
  int of_schedulers = 0;
  for (std::string prefix : *options.schedule.schedulers) {
    std::ranges::replace(prefix, '_', '-');
    for (const OptionSpec& spec : OptionTable()) {
      if (!spec.name.starts_with(prefix + "-")) continue;
      ++of_schedulers;
      check(spec);
    }
  }
  EXPECT_EQ(of_schedulers, 20);
}

}  // namespace
}  // namespace dtnn

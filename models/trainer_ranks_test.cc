// A run of several ranks that is stopped in the middle of an epoch and gone on with.

#include <cstring>
#include <vector>

#include "comm/local.h"
#include "data/split.h"
#include "data/synthetic.h"
#include "gtest/gtest.h"
#include "models/parameter_store.h"
#include "models/trainer.h"
#include "models/zoo/zoo.h"
#include "optim/categorical_accuracy.h"
#include "optim/categorical_cross_entropy.h"
#include "optim/sgd.h"
#include "tensor/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Values;

constexpr ImageExtents kSample = {8, 8, 1};

// Stops a run after some batches of all, lowers the rate before, and keeps the losses of epochs.
class Watcher : public Callback {
 public:
  Watcher(Trainer& trainer, int64_t stop_at) : trainer_(trainer), stop_at_(stop_at) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.epoch == 0 && pass.step == 1) trainer_.set_learning_rate(0.01);
    if (trainer_.steps_done() == stop_at_) trainer_.Stop();
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    losses.push_back(training.averages->Value(0));
    samples.push_back(training.averages->samples());
    return absl::OkStatus();
  }
  std::vector<double> losses;
  std::vector<int64_t> samples;

 private:
  Trainer& trainer_;
  const int64_t stop_at_;
};

// One rank's part of a run, made anew.
struct Session {
  explicit Session(Communicator& communicator)
      : device(*DeviceContext::Create(Device::Cpu())),
        store(*ParameterStore::Create(graph, *device, DType::kFloat64, 1)) {
    TrainerOptions options;
    options.figures = {std::make_shared<CategoricalCrossEntropy>(),
                       {std::make_shared<CategoricalAccuracy>()}};
    options.optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0});
    options.learning_rate = 0.05;
    options.communicator = &communicator;
    trainer = *Trainer::Create(graph, *store, *device, options);
    const std::shared_ptr<const Dataset> data =
        *MakeSynthetic({.train_samples = 27,
                        .sample = kSample,
                        .classes = 4,
                        .pattern = SyntheticPattern::kClasses});
    loader = *Loader::Create(data, Part::kTrain, AllIndices(27),
                             {.batch = 4,
                              .rank = communicator.rank(),
                              .ranks = communicator.size(),
                              .dtype = DType::kFloat64});
  }
  absl::Status Train(Watcher& watcher) {
    Callback* const callbacks[] = {&watcher};
    return trainer->Train(*loader, nullptr, 3, callbacks);
  }

  const Graph graph = *BuildModel("simplemlp", {.sample = kSample, .classes = 4});
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Loader> loader;
};

TEST(TrainerRanksTest, ARestoredRunHasTheFiguresOfAllRanks) {
  for (const int64_t stop_at : {2, 4, 6}) {  // of 4 steps per epoch
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      SetNumThreads(1);
      Session whole(communicator), first(communicator), second(communicator);
      Watcher all(*whole.trainer, -1), begin(*first.trainer, stop_at), end(*second.trainer, -1);
      EXPECT_TRUE(whole.Train(all).ok());
      EXPECT_TRUE(first.Train(begin).ok());
      const TrainingState state = *first.trainer->State();
      EXPECT_EQ(state.figure_samples, stop_at == 4 ? 27 : 16) << "not of all ranks";
      EXPECT_EQ(state.learning_rate, 0.01);
      EXPECT_TRUE(second.trainer->PrepareForTraining(second.loader->max_batch()).ok());
      const Tensor &from = first.store->all_values(), &to = second.store->all_values();
      std::memcpy(to.raw_data(), from.raw_data(), size_t(to.num_elements()) * sizeof(double));
      second.store->MarkChanged();
      EXPECT_TRUE(second.trainer->Restore(state).ok());
      EXPECT_EQ(second.trainer->learning_rate(), 0.01);
      EXPECT_TRUE(second.Train(end).ok());
      std::vector<double> losses = begin.losses;
      losses.insert(losses.end(), end.losses.begin(), end.losses.end());
      EXPECT_EQ(losses.size(), all.losses.size());
      EXPECT_TRUE(testing::Close(losses, all.losses, 1e-12));
      for (const int64_t samples : end.samples) EXPECT_EQ(samples, 27);
      EXPECT_EQ(Values(to), Values(whole.store->all_values()));
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace dtnn

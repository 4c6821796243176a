// Ranks that exchange their gradients: the same numbers on any number of them, whatever the buckets
// and the mode, and what is left when one fails in the middle.

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "comm/local.h"
#include "comm/testing/probe_communicator.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/ranks/bucket_choice.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "optim/optimizers/sgd.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::ProbeCommunicator;

constexpr ImageExtents kSample = {8, 8, 1};
constexpr int64_t kSamples = 101;  // divides by nothing
constexpr int64_t kGlobalBatch = 24;

std::string Bytes(const Tensor& tensor) {
  if (tensor.empty()) return "";
  return std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                     size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

Graph Network(bool normalized) {
  GraphBuilder b("network", TensorFormat::kNHWC);
  b.Input(kSample).Conv2d(3, {.stride = 2, .padding = 1});
  if (normalized) b.BatchNorm();
  b.Relu().Flatten().Fc(20).Relu().Fc(4).Softmax();
  return *b.Build();
}

// What is varied, over settings that are the same for all.
struct Variant {
  bool normalized = false;
  int64_t accumulate_steps = 1;
  double clip_norm = 0;
  std::shared_ptr<const Optimizer> optimizer = std::make_shared<Sgd>();
  GradientReducerOptions reducer = {};
  bool choose_buckets = false;
  bool whole_steps = false;
  bool sync_batch_norm = false;
  ModelSyncOptions model_sync = {};
};

// One rank of a run.
struct Rank {
  Rank(const Variant& setup, Communicator* communicator)
      : graph(Network(setup.normalized)),
        device(*DeviceContext::Create(Device::Cpu())),
        // Ranks begin with different parameters: the broadcast must make them equal.
        store(*ParameterStore::Create(
            graph, *device, DType::kFloat32,
            communicator == nullptr ? 1 : uint64_t(1 + communicator->rank()))) {
    SetNumThreads(1);
    TrainerOptions options;
    options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                          {std::make_shared<CategoricalAccuracy>()}};
    options.optimizer = setup.optimizer;
    options.learning_rate = 0.01;
    options.accumulate_steps = setup.accumulate_steps;
    options.clip_norm = setup.clip_norm;
    options.communicator = communicator;
    options.reducer = setup.reducer;
    options.choose_buckets = setup.choose_buckets;
    options.whole_steps = setup.whole_steps;
    options.sync_batch_norm = setup.sync_batch_norm;
    options.model_sync = setup.model_sync;
    options.final_model_sync = false;
    trainer = *Trainer::Create(graph, *store, *device, options);
    const int ranks = communicator == nullptr ? 1 : communicator->size();
    loader = *Loader::Create(*MakeSynthetic({.train_samples = kSamples,
                                             .sample = kSample,
                                             .classes = 4,
                                             .pattern = SyntheticPattern::kClasses}),
                             Split::kTrain, AllIndices(kSamples),
                             {.batch = kGlobalBatch / ranks,
                              .rank = communicator == nullptr ? 0 : communicator->rank(),
                              .ranks = ranks});
  }

  Graph graph;
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<ParameterStore> store;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Loader> loader;
};

// What a rank has seen behind every batch.
struct Track : public Callback {
  explicit Track(const Rank& r) : rank(r) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    const double sum = pass.averages->ToDoubles()[0];
    losses.push_back(sum - (pass.step > 1 ? sum_before : 0));
    sum_before = sum;
    parameters.push_back(Bytes(rank.store->values()));
    statistics.push_back(Bytes(rank.store->statistics()));
    return absl::OkStatus();
  }

  const Rank& rank;
  double sum_before = 0;
  std::vector<double> losses;                       // sums over the rank's samples of a batch
  std::vector<std::string> parameters, statistics;  // bytes
};

struct Record {
  std::vector<double> losses;           // sums over all ranks' samples of a batch
  std::vector<std::string> parameters;  // behind each batch, equal on all ranks
};

Record TrainOn(int ranks, const Variant& setup, int64_t epochs) {
  std::vector<Record> runs(static_cast<size_t>(ranks));
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
    Rank rank(setup, &communicator);
    Track track(rank);
    Callback* const callbacks[] = {&track};
    const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, epochs, callbacks);
    runs[size_t(communicator.rank())] = {track.losses, track.parameters};
    EXPECT_GT(rank.trainer->totals().waited_seconds, 0);
    return trained;
  });
  EXPECT_TRUE(status.ok()) << status;
  for (size_t r = 1; r < runs.size(); ++r) {
    EXPECT_EQ(runs[r].parameters.size(), runs[0].parameters.size());
    EXPECT_TRUE(runs[r].parameters == runs[0].parameters) << "rank " << r << " differs";
    for (size_t i = 0; i < runs[0].losses.size(); ++i) runs[0].losses[i] += runs[r].losses[i];
  }
  return runs[0];
}

const GradientReducerOptions kModes[] = {
    {.bucket_bytes = 1 << 20, .blocking = true},
    {.bucket_bytes = 1 << 20, .blocking = false},
    {.bucket_bytes = 640, .blocking = true},
    {.bucket_bytes = 640, .blocking = false},
};

std::string Print(const GradientReducerOptions& options) {
  return (options.blocking ? "blocking, buckets of " : "overlapped, buckets of ") +
         std::to_string(options.bucket_bytes);
}

TEST(TrainerExchangeTest, AnyNumberOfRanksHasTheLossesOfOne) {
  const Record one = TrainOn(1, {}, 20);
  ASSERT_EQ(one.losses.size(), 100u);  // 5 steps per epoch, the last of 5 samples
  for (const int ranks : {2, 3, 4}) {
    Record blocking;
    for (const GradientReducerOptions& mode : kModes) {
      const Record run = TrainOn(ranks, {.reducer = mode}, 20);
      ASSERT_EQ(run.losses.size(), one.losses.size());
      for (size_t i = 0; i < one.losses.size(); ++i) {
        ASSERT_NEAR(run.losses[i], one.losses[i], 1e-5 * one.losses[i])
            << ranks << " ranks, " << Print(mode) << ", batch " << i;
      }
      if (blocking.losses.empty()) blocking = run;
      EXPECT_TRUE(run.parameters == blocking.parameters) << ranks << " ranks, " << Print(mode);
    }
  }
  EXPECT_LT(one.losses[95], 0.7 * one.losses[0]);  // it learns
}

TEST(TrainerExchangeTest, BucketsAndModesChangeNoBit) {
  // Decay that spares biases: where they lie must be known in every bucket.
  const std::shared_ptr<const Optimizer> optimizers[] = {
      std::make_shared<Sgd>(SgdOptions{.nesterov = true, .decay = 0.1, .decay_vectors = false}),
      std::make_shared<Adam>(AdamOptions{.decay = 0.1, .decay_vectors = false})};
  for (const auto& optimizer : optimizers) {
    for (const double clip_norm : {0.0, 0.3}) {
      for (const int64_t accumulate_steps : {1, 3}) {
        Variant setup = {.normalized = true,
                         .accumulate_steps = accumulate_steps,
                         .clip_norm = clip_norm,
                         .optimizer = optimizer};
        const Record whole = TrainOn(3, setup, 2);
        for (const bool whole_steps : {false, true}) {
          for (const GradientReducerOptions& mode : kModes) {
            setup.reducer = mode;
            setup.whole_steps = whole_steps;
            EXPECT_TRUE(TrainOn(3, setup, 2).parameters == whole.parameters)
                << Print(mode) << ", clipped to " << clip_norm << ", " << accumulate_steps
                << " batches, whole steps: " << whole_steps;
          }
        }
      }
    }
  }
}

TEST(TrainerExchangeTest, BucketsOfAMeasuredSizeChangeNoBit) {
  for (const int64_t accumulate_steps : {1, 3}) {
    Variant setup = {.normalized = true,
                     .accumulate_steps = accumulate_steps,
                     .reducer = {.blocking = false},
                     .whole_steps = true};
    constexpr int64_t kEpochs = 8;  // of two steps at least
    static_assert(2 * kEpochs > BucketChoice::kWarmUp + BucketChoice::kMeasured);
    const Record fixed = TrainOn(3, setup, kEpochs);
    setup.choose_buckets = true;
    EXPECT_TRUE(TrainOn(3, setup, kEpochs).parameters == fixed.parameters) << accumulate_steps;
  }
}

// What the trainer's clocks show before and behind an epoch's validation.
struct ReadClocks : public Callback {
  explicit ReadClocks(const Trainer& t) : trainer(t) {}
  absl::Status OnPassBegin(const Pass& pass) override {
    if (pass.kind == Pass::Kind::kValidation) begin = Now();
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    EXPECT_EQ(Now(), begin);
    return absl::OkStatus();
  }
  std::pair<double, double> Now() const {
    return {trainer.totals().training_seconds, trainer.totals().waited_seconds};
  }

  const Trainer& trainer;
  std::pair<double, double> begin;
};

TEST(TrainerExchangeTest, EveryWaitOfATrainingPassIsOnTheClockAndNoOther) {
  const Variant setups[] = {
      {.normalized = true},
      {.normalized = true, .sync_batch_norm = true},
      {.normalized = true, .model_sync = {.frequency = 2}},
      // Nothing but the metrics, at the end of the pass.
      {.normalized = true, .model_sync = {.frequency = -1}},
  };
  for (const Variant& setup : setups) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      Rank rank(setup, &communicator), validating(setup, &communicator);
      EXPECT_TRUE(rank.trainer->PrepareForTraining(rank.loader->max_batch()).ok());
      EXPECT_EQ(rank.trainer->totals().training_seconds, 0);
      const double before = communicator.waited_seconds();
      const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, 2, {});
      const double waited = rank.trainer->totals().waited_seconds;
      EXPECT_GT(waited, 0);
      EXPECT_NEAR(waited, communicator.waited_seconds() - before, 1e-9);
      EXPECT_GT(rank.trainer->totals().training_seconds, waited);
      // The metrics of validation are summed over the ranks, but not on this clock.
      ReadClocks clocks(*rank.trainer);
      Callback* const callbacks[] = {&clocks};
      const absl::Status validated =
          rank.trainer->Train(*rank.loader, validating.loader.get(), 1, callbacks);
      EXPECT_GT(clocks.begin.first, clocks.begin.second);
      EXPECT_GT(clocks.begin.second, waited);
      return trained.ok() ? validated : trained;
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// A run of 3 ranks whose rank 1 fails at its all-reduce number `fail_at`; every rank then calls
// `after`.
void FailAt(int64_t fail_at, const Variant& setup,
            const std::function<void(Rank& rank, const Track& track)>& after) {
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    ProbeCommunicator probe(communicator);
    Rank rank(setup, &probe);
    Track track(rank);
    Callback* const callbacks[] = {&track};
    if (probe.rank() == 1) probe.FailAfter(fail_at);
    const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, 2, callbacks);
    EXPECT_EQ(trained.code(), absl::StatusCode::kUnavailable) << trained;
    EXPECT_EQ(probe.outstanding(), 0);
    after(rank, track);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(TrainerExchangeTest, AFailureInTheMiddleLeavesTheLastWholeStep) {
  for (const GradientReducerOptions& mode : kModes) {
    for (const int64_t accumulate_steps : {1, 2}) {
      const Variant setup = {.normalized = true,
                             .accumulate_steps = accumulate_steps,
                             .reducer = mode,
                             .whole_steps = true};
      // The exchange of a later update, one or several all-reduces into it.
      Rank measure(setup, nullptr);
      const int64_t bytes =
          int64_t(ParameterStore::Measure(measure.graph, DType::kFloat32).gradients);
      const int64_t buckets = (bytes + mode.bucket_bytes - 1) / mode.bucket_bytes;
      ASSERT_TRUE(mode.bucket_bytes > bytes || buckets > 5);
      const std::pair<int64_t, int64_t> places[] = {
          {1, 0}, {2, 0}, {2, buckets / 2}, {2, buckets - 1}};
      for (const auto& [updates, bucket] : places) {
        FailAt(updates * buckets + bucket, setup, [&](Rank& rank, const Track& track) {
          const int64_t batches = updates * accumulate_steps;
          ASSERT_GE(int64_t(track.parameters.size()), batches);
          const size_t last = size_t(batches - 1);
          EXPECT_TRUE(Bytes(rank.store->values()) == track.parameters[last]);
          EXPECT_TRUE(Bytes(rank.store->statistics()) == track.statistics[last]);
          const absl::StatusOr<TrainingState> state = rank.trainer->StateAlone();
          ASSERT_TRUE(state.ok()) << state.status();
          EXPECT_EQ(state->steps_done, updates);
          EXPECT_EQ(state->step_in_epoch, batches);
          EXPECT_EQ(state->metrics.samples, batches * kGlobalBatch / 3);
          double sum = 0;
          for (int64_t i = 0; i < batches; ++i) sum += track.losses[size_t(i)];
          EXPECT_NEAR(state->metrics.sums[0], sum, 1e-9);
        });
      }
    }
  }
}

// The gradients of the first and of the third batch are exchanged, and models after them.
TEST(TrainerExchangeTest, ModelsThatCannotBeSynchronisedHaveTakenTheirStep) {
  const Variant setup = {.reducer = kModes[0], .whole_steps = true, .model_sync = {.frequency = 2}};
  FailAt(3, setup, [](Rank& rank, const Track& track) {
    ASSERT_EQ(track.parameters.size(), 2u);
    EXPECT_FALSE(Bytes(rank.store->values()) == track.parameters[1]);
    const absl::StatusOr<TrainingState> state = rank.trainer->StateAlone();
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_EQ(state->steps_done, 3);
    EXPECT_EQ(state->step_in_epoch, 3);
    EXPECT_EQ(state->metrics.samples, 3 * kGlobalBatch / 3);
  });
}

// What a checkpoint holds.
struct Saved {
  TrainingState state;
  std::string values, slot;
};

TEST(TrainerExchangeTest, TheStateOfASurvivorGoesOnAsIfNothingHadHappened) {
  for (const int64_t accumulate_steps : {1, 2}) {
    Variant setup = {.normalized = true,
                     .accumulate_steps = accumulate_steps,
                     .reducer = {.bucket_bytes = 640, .blocking = false},
                     .whole_steps = true};
    const Record whole = TrainOn(3, setup, 2);
    Saved saved;
    FailAt(30, setup, [&](Rank& rank, const Track&) {
      if (rank.loader->options().rank != 2) return;
      saved = {*rank.trainer->StateAlone(), Bytes(rank.store->all_values()),
               Bytes(rank.store->slots()[0])};
    });
    ASSERT_GT(saved.state.steps_done, 0);
    const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
      Rank rank(setup, &communicator);
      Track track(rank);
      Callback* const callbacks[] = {&track};
      EXPECT_TRUE(rank.trainer->PrepareForTraining(rank.loader->max_batch()).ok());
      std::memcpy(rank.store->all_values().raw_data(), saved.values.data(), saved.values.size());
      std::memcpy(rank.store->slots()[0].raw_data(), saved.slot.data(), saved.slot.size());
      rank.store->MarkChanged();
      EXPECT_TRUE(rank.trainer->Restore(saved.state).ok());
      const int64_t left = 2 - rank.trainer->epochs_done();
      EXPECT_TRUE(rank.trainer->Train(*rank.loader, nullptr, left, callbacks).ok());
      EXPECT_TRUE(track.parameters.back() == whole.parameters.back());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// At the end of its batch 3, or of its first epoch, rank 1 ends with a status or, without one,
// continues with parameters that are NaN.
struct Spoil : public Callback {
  Spoil(Rank& r, absl::Status s, bool at_the_end)
      : rank(r), status(std::move(s)), at_epoch_end(at_the_end) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    if (pass.epoch > 0 || pass.step != 3) return absl::OkStatus();
    state = *rank.trainer->StateAlone();
    if (rank.loader->options().rank != 1 || at_epoch_end) return absl::OkStatus();
    if (status.ok()) {
      const Tensor values = rank.store->values();
      std::fill_n(values.data<float>(), values.num_elements(),
                  std::numeric_limits<float>::quiet_NaN());
      rank.store->MarkChanged();
    }
    return status;
  }
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    return at_epoch_end && rank.loader->options().rank == 1 ? status : absl::OkStatus();
  }

  Rank& rank;
  const absl::Status status;
  const bool at_epoch_end;
  TrainingState state;
};

TEST(TrainerExchangeTest, WhereOneRankHasDivergedNobodySavesThat) {
  for (const GradientReducerOptions& mode : kModes) {
    const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
      Rank rank({.reducer = mode, .whole_steps = true}, &communicator);
      Spoil spoil(rank, absl::OkStatus(), false);
      Callback* const callbacks[] = {&spoil};
      const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, 2, callbacks);
      EXPECT_EQ(trained.code(), absl::StatusCode::kOutOfRange) << trained;
      EXPECT_TRUE(rank.trainer->diverged());
      const absl::Status saved = rank.trainer->StateAlone().status();
      EXPECT_EQ(saved.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_NE(saved.message().find("has diverged after "), std::string::npos) << saved;
      // A caller that restores better parameters is not concerned.
      EXPECT_TRUE(rank.trainer->Restore(spoil.state).ok());
      EXPECT_TRUE(rank.trainer->StateAlone().ok());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

// Whatever the code: a folder that is taken, a file that grows too large.
TEST(TrainerExchangeTest, ARankThatFailsOtherwiseLeavesTheOthersAStateToSave) {
  for (const absl::Status& failure :
       {absl::FailedPreconditionError("no room"), absl::OutOfRangeError("no room")}) {
    for (const bool at_epoch_end : {false, true}) {
      const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
        Rank rank({.whole_steps = true}, &communicator);
        Spoil spoil(rank, failure, at_epoch_end);
        Callback* const callbacks[] = {&spoil};
        const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, 2, callbacks);
        EXPECT_NE(trained.message().find("no room"), std::string::npos) << trained;
        EXPECT_FALSE(rank.trainer->diverged());
        const absl::StatusOr<TrainingState> state = rank.trainer->StateAlone();
        EXPECT_TRUE(state.ok()) << state.status();
        EXPECT_EQ(rank.trainer->steps_done(), at_epoch_end ? 5 : 3);
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

TEST(TrainerExchangeTest, TornParametersAreNoState) {
  // Blocking, the failure of the third bucket comes behind the update of two.
  const Variant setup = {.reducer = {.bucket_bytes = 640}};
  FailAt(2, setup, [](Rank& rank, const Track&) {
    const absl::StatusOr<TrainingState> state = rank.trainer->StateAlone();
    EXPECT_EQ(state.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(state.status().message().find("cannot be saved"), std::string::npos)
        << state.status();
  });
}

// With a sum of their own, ranks tell each other nothing of gradients, models and statistics beside
// it: at the start, in every step, and at the end.
TEST(TrainerExchangeTest, AnotherSumIsTheOnlyWayOfWhatWasLearnt) {
  for (const int64_t frequency : {0, 2}) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      ProbeCommunicator probe(communicator);
      std::vector<int64_t> summed;
      const Variant setup = {.normalized = true,
                             .reducer = {.sum =
                                             [&](const Tensor& tensor) {
                                               summed.push_back(tensor.num_elements());
                                               return communicator.AllReduce(tensor);
                                             }},
                             .model_sync = {.frequency = frequency}};
      Rank rank(setup, &probe);
      const absl::Status trained = rank.trainer->Train(*rank.loader, nullptr, 2, {});
      const auto sums = [&](const Tensor& of) {
        return std::ranges::count(summed, of.num_elements());
      };
      EXPECT_GE(sums(rank.store->values()) + sums(rank.store->all_values()), 1) << "at the start";
      EXPECT_GE(summed.size(), 6u) << "gradients, or models";
      EXPECT_EQ(sums(rank.store->statistics()) > 0, frequency == 0);
      // Losses and metrics.
      for (const int64_t elements : probe.sizes()) EXPECT_LE(elements, 4);
      for (const int64_t elements : probe.broadcasts()) EXPECT_LE(elements, 4);
      return trained;
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

}  // namespace
}  // namespace dtnn

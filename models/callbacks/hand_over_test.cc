// A run whose ranks change: whichever exchange fails, on one rank or after it was done by others,
// the rest of the run learns what one that was never interrupted learns.

#include "models/callbacks/hand_over.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "comm/local.h"
#include "comm/testing/probe_communicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"
#include "optim/optimizers/adam.h"
#include "optim/schedulers/early_stopping.h"
#include "optim/schedulers/reduce_lr_every_nepochs.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::PatternMlp;
using testing::ProbeCommunicator;
using testing::SessionOptions;
using testing::TrainingSession;

constexpr int64_t kEpochs = 2, kGlobalBatch = 12;
constexpr int64_t kSamples = 60;  // of which a fifth validates: 4 steps an epoch

// What a rank knows of the epochs that have ended for it.
struct Epochs {
  std::vector<double> losses, validation_losses;
  std::vector<int64_t> samples;

  void Truncate(int64_t epochs) {
    losses.resize(size_t(epochs));
    validation_losses.resize(size_t(epochs));
    samples.resize(size_t(epochs));
  }
  void Append(const testing::Recorder& record) {
    losses.insert(losses.end(), record.losses.begin(), record.losses.end());
    validation_losses.insert(validation_losses.end(), record.validation_losses.begin(),
                             record.validation_losses.end());
  }
};

// Epoch by epoch, the number of samples that its metrics are of.
class CountSamples : public Callback {
 public:
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    samples.push_back(training.averages->samples());
    return absl::OkStatus();
  }
  std::vector<int64_t> samples;
};

// Needs the other ranks at the end of an epoch, as a checkpoint does.
class MeetOthers : public Callback {
 public:
  explicit MeetOthers(Communicator* communicator) : communicator_(communicator) {}
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    if (communicator_ == nullptr) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const Tensor none, Tensor::Zeros(DType::kInt32, Shape{1}));
    return communicator_->AllReduce(none);
  }

 private:
  Communicator* const communicator_;
};

// A rank in one generation.
struct Rank {
  Rank(Communicator* communicator, bool clip)
      : graph(PatternMlp()),
        session(graph, OptionsOf(communicator, clip)),
        schedule(
            *session.trainer, *session.store, *session.device,
            {.schedulers = {std::make_shared<ReduceLrEveryNepochs>(
                                ReduceLrEveryNepochsOptions{.factor = 0.5, .nepochs = 1}),
                            std::make_shared<EarlyStopping>(EarlyStoppingOptions{.patience = 2})}}),
        ends(*session.trainer, schedule),
        meet(communicator) {
    SetNumThreads(1);
    EXPECT_TRUE(session.trainer->PrepareForTraining(session.training->max_batch()).ok());
  }

  static SessionOptions OptionsOf(Communicator* communicator, bool clip) {
    const int ranks = communicator == nullptr ? 1 : communicator->size();
    SessionOptions options{.dtype = DType::kFloat64,
                           .samples = kSamples,
                           .loading = {.batch = kGlobalBatch / ranks,
                                       .rank = communicator == nullptr ? 0 : communicator->rank(),
                                       .ranks = ranks,
                                       .seed = 2}};
    options.training.optimizer =
        std::make_shared<Adam>(AdamOptions{.average_decay = clip ? 0.8 : 0.0});
    options.training.learning_rate = 0.01;
    options.training.clip_norm = clip ? 0.5 : 0;
    options.training.accumulate_steps = clip ? 2 : 1;
    options.training.communicator = communicator;
    options.training.whole_steps = options.training.common_metrics = true;
    return options;
  }

  RunParts parts() {
    return {&graph, session.store.get(), session.device.get(), session.trainer.get(), &schedule,
            "adam"};
  }
  absl::Status Train() { return session.Train(kEpochs, {&ends, &schedule, &meet, &counted}); }
  absl::StatusOr<KeptRun> Keep(const std::string& history) {
    return KeepRun(parts(), ends, history);
  }

  Graph graph;
  TrainingSession session;
  Schedule schedule;
  EpochEnds ends;
  MeetOthers meet;
  CountSamples counted;
};

enum class How : uint8_t {
  kBefore,  // the rank is gone before it takes part in an exchange
  kAfter,   // all have done the exchange, but that rank does not know
};

struct Survivor {
  std::optional<KeptRun> kept;
  Epochs epochs;
};

// The first generation, of three ranks, until all-reduce number `count` of rank 1 fails. Nothing
// where there are not so many.
std::vector<Survivor> FirstGeneration(int64_t count, How how, bool clip) {
  std::vector<Survivor> survivors(3);
  bool failed = false;
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    ProbeCommunicator probe(communicator);
    Rank rank(&probe, clip);
    if (communicator.rank() == 1) {
      how == How::kBefore ? probe.FailAfter(count) : probe.FailWhenDone(count);
    }
    const absl::Status trained = rank.Train();
    if (trained.ok()) return absl::OkStatus();
    failed = true;
    Survivor& mine = survivors[size_t(communicator.rank())];
    mine.epochs.Append(rank.session.record);
    mine.epochs.samples = rank.counted.samples;
    absl::StatusOr<KeptRun> kept = rank.Keep("history");
    EXPECT_TRUE(kept.ok()) << kept.status();
    if (kept.ok()) mine.kept = *std::move(kept);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return failed ? survivors : std::vector<Survivor>();
}

Epochs Uninterrupted(bool clip) {
  Rank alone(nullptr, clip);
  EXPECT_TRUE(alone.Train().ok());
  Epochs epochs;
  epochs.Append(alone.session.record);
  epochs.samples = alone.counted.samples;
  return epochs;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-11 * (1 + std::abs(expected[i]))) << "epoch " << i;
  }
}

// The second generation: these of the first, and a newcomer. Trains to the end.
void ExpectTheRestIsLearnt(const std::vector<Survivor*>& survivors, bool clip,
                           const Epochs& expected, int64_t& most_behind) {
  const int ranks = int(survivors.size()) + 1;
  const absl::Status status = RunRanks(ranks, [&](Communicator& communicator) {
    Rank rank(&communicator, clip);
    std::optional<KeptRun> none;
    const bool newcomer = communicator.rank() == ranks - 1;
    const auto& kept = newcomer ? none : survivors[size_t(communicator.rank())]->kept;
    const absl::StatusOr<HandedOver> handed = HandOver(communicator, kept, rank.parts());
    if (!handed.ok()) return handed.status();
    EXPECT_EQ(handed->history, "history");
    if (communicator.rank() == 0) most_behind = std::max(most_behind, handed->steps_behind);
    const int64_t before = rank.session.trainer->epochs_done();
    DTNN_RETURN_IF_ERROR(rank.Train());
    Epochs epochs = survivors[size_t(handed->source)]->epochs;
    epochs.Truncate(before);
    epochs.Append(rank.session.record);
    epochs.samples.insert(epochs.samples.end(), rank.counted.samples.begin(),
                          rank.counted.samples.end());
    ExpectNear(epochs.losses, expected.losses);
    ExpectNear(epochs.validation_losses, expected.validation_losses);
    EXPECT_EQ(epochs.samples, expected.samples);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(HandOverTest, WhicheverExchangeFailsTheRestIsLearnt) {
  for (const bool clip : {false, true}) {
    const Epochs expected = Uninterrupted(clip);
    ASSERT_EQ(expected.losses.size(), size_t(kEpochs));
    for (const How how : {How::kBefore, How::kAfter}) {
      int64_t failures = 0, most_behind = 0;
      for (int64_t count = 0;; ++count) {
        SCOPED_TRACE(::testing::Message()
                     << (clip ? "clip, " : "") << (how == How::kAfter) << ", all-reduce " << count);
        std::vector<Survivor> first = FirstGeneration(count, how, clip);
        if (first.empty()) break;
        ++failures;
        // The one that has failed is gone, or it is the one that is behind and another is gone.
        std::vector<Survivor*> left = {&first[0], how == How::kBefore ? &first[2] : &first[1]};
        ExpectTheRestIsLearnt(left, clip, expected, most_behind);
        if (HasFailure()) return;
      }
      EXPECT_GE(failures, kEpochs * (clip ? 2 : 4) * 2);  // gradients, and metrics
      EXPECT_EQ(most_behind, how == How::kAfter ? 1 : 0);
    }
  }
}

TEST(HandOverTest, WithoutTheStateThereIsNothingToHandOver) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Rank rank(&communicator, /*clip=*/false);
    return HandOver(communicator, std::nullopt, rank.parts()).status();
  });
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no rank holds the state"));
}

TEST(HandOverTest, OtherOptimizersAreRefused) {
  Rank alone(nullptr, /*clip=*/false);
  EXPECT_TRUE(alone.Train().ok());
  const std::optional<KeptRun> kept = *alone.Keep("");
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Rank rank(&communicator, /*clip=*/false);
    RunParts parts = rank.parts();
    if (communicator.rank() == 1) parts.optimizer = "sgd";
    return HandOver(communicator, communicator.rank() == 0 ? kept : std::nullopt, parts).status();
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("with adam, this rank in float64 with sgd"));
}

// CPUs have none, so ranks only learn it here.
TEST(HandOverTest, TheLossScaleIsThatOfTheSource) {
  Rank alone(nullptr, /*clip=*/false);
  EXPECT_TRUE(alone.Train().ok());
  std::optional<KeptRun> kept = *alone.Keep("");
  EXPECT_EQ(kept->loss_scale, std::nullopt);
  kept->loss_scale = {.scale = 512, .good_steps = 7, .skipped_steps = 9};
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) -> absl::Status {
    Rank rank(&communicator, /*clip=*/false);
    DTNN_ASSIGN_OR_RETURN(
        const HandedOver handed,
        HandOver(communicator, communicator.rank() == 0 ? kept : std::nullopt, rank.parts()));
    EXPECT_EQ(handed.loss_scale, kept->loss_scale) << "rank " << communicator.rank();
    return absl::OkStatus();
  });
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(HandOverTest, TheSamplesThatAreLeftOfAnEpochAreKnown) {
  KeptRun kept;
  kept.training.sampler = {.batch = 4, .ranks = 3, .samples = 26};
  EXPECT_EQ(kept.samples_left(), 0);  // no epoch has begun
  kept.training.step_in_epoch = 1;
  EXPECT_EQ(kept.samples_left(), 14);
  kept.training.step_in_epoch = 2;
  EXPECT_EQ(kept.samples_left(), 0);  // the last two have joined that step
  kept.training.sampler.first = 20;
  kept.training.step_in_epoch = 0;
  EXPECT_EQ(kept.samples_left(), 6);
}

}  // namespace
}  // namespace dtnn

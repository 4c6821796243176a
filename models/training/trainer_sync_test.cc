// Ranks with data of their own, and models that are synchronised now and then, against a simulation
// that knows nothing of ranks: every model in turn, sums in plain loops.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/datasets/synthetic.h"
#include "data/loading/split.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/sgd.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Close;
using ::dtnn::testing::Values;

constexpr ImageExtents kSample = {4, 4, 1};
constexpr double kRate = 0.05;
constexpr int64_t kBatch = 5, kEpochs = 3;
// Rank 2 has 5 steps in an epoch, rank 0 two, rank 1 one, and no last one is full.
const std::vector<int64_t> kSizes = {9, 4, 23};

Graph SmallGraph() {
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input(kSample).Flatten().Fc(5).Tanh().Fc(3).Softmax();
  return *b.Build();
}

struct Case {
  ModelSyncOptions sync = {};
  bool initial = true, final = true;
  int64_t accumulate_steps = 1;
};

std::unique_ptr<Loader> LoaderOf(int rank) {
  const std::shared_ptr<const Dataset> data = *MakeSynthetic({.train_samples = kSizes[size_t(rank)],
                                                              .sample = kSample,
                                                              .classes = 3,
                                                              .pattern = SyntheticPattern::kClasses,
                                                              .seed = uint64_t(rank)});
  return *Loader::Create(data, Split::kTrain, AllIndices(kSizes[size_t(rank)]),
                         {.batch = kBatch, .seed = uint64_t(rank), .dtype = DType::kFloat64});
}

uint64_t SeedOf(const Case& c, int rank) { return c.initial ? 1 : uint64_t(10 + rank); }

// The values of every rank's model in a run, and the metrics of its last epoch.
struct Outcome {
  std::vector<std::vector<double>> values{kSizes.size()};
  double loss = 0;  // mean over all ranks' samples
  int64_t samples = 0;
};

// One model of the simulation.
class Model {
 public:
  Model(const Graph& graph, uint64_t seed)
      : device_(*DeviceContext::Create(Device::Cpu())),
        store_(*ParameterStore::Create(graph, *device_, DType::kFloat64, seed)) {
    EXPECT_TRUE(store_->AllocateForTraining(*device_, 0).ok());
    plan_ = *Plan::Compile(graph, *store_, *device_,
                           {.batch = kBatch, .training = true, .loss = &loss_});
  }
  // Adds the gradients of the sum of a batch's losses to `sums`, and returns the sum of losses.
  double AddGradients(const Batch& batch, std::vector<double>& sums) {
    store_->MarkChanged();
    EXPECT_TRUE(plan_->ForwardBackward(batch.x, batch.targets, 1, 0).ok());
    const std::vector<double> gradients = Values(store_->gradients());
    sums.resize(gradients.size(), 0);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += gradients[i];
    return plan_->LossSum();
  }
  double* values() { return store_->values().data<double>(); }
  std::vector<double> Copy() const { return Values(store_->values()); }

 private:
  CategoricalCrossEntropy loss_;
  std::unique_ptr<DeviceContext> device_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Plan> plan_;
};

// 1/|P|, n/sum(n), (min + max - n)/sum of that.
std::vector<double> Weights(RankWeighting weighting, const std::vector<bool>& in) {
  int64_t least = 1000, most = 0;
  for (size_t r = 0; r < in.size(); ++r) {
    if (!in[r]) continue;
    least = std::min(least, kSizes[r]);
    most = std::max(most, kSizes[r]);
  }
  std::vector<double> weights;
  double sum = 0;
  for (size_t r = 0; r < in.size(); ++r) {
    const double n = double(kSizes[r]);
    const double weight = weighting == RankWeighting::kEqual     ? 1
                          : weighting == RankWeighting::kSamples ? n
                                                                 : double(least + most) - n;
    weights.push_back(in[r] ? weight : 0);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::vector<double> Mix(const std::vector<double>& weights,
                        const std::vector<std::vector<double>>& of) {
  std::vector<double> mix;
  for (size_t r = 0; r < of.size(); ++r) {
    mix.resize(std::max(mix.size(), of[r].size()), 0);
    for (size_t i = 0; i < of[r].size(); ++i) mix[i] += weights[r] * of[r][i];
  }
  return mix;
}

class Simulation {
 public:
  Simulation(const Case& c, const Graph& graph) : case_(c) {
    for (int rank = 0; rank < int(kSizes.size()); ++rank) {
      models_.push_back(std::make_unique<Model>(graph, SeedOf(c, rank)));
      loaders_.push_back(LoaderOf(rank));
    }
  }

  Outcome Run() {
    int64_t steps = 0;
    for (const auto& loader : loaders_) steps = std::max(steps, loader->steps());
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      outcome_.loss = 0;
      for (const auto& loader : loaders_) loader->StartEpoch(epoch);
      for (int64_t step = 0; step < steps; step += case_.accumulate_steps) {
        Update(std::min(case_.accumulate_steps, steps - step));
      }
    }
    const ModelSyncOptions& sync = case_.sync;
    if (case_.final && (sync.frequency != 0 || !case_.initial || sync.min_available > 0)) {
      AverageModels(std::vector<bool>(models_.size(), true));
    }
    for (size_t r = 0; r < models_.size(); ++r) outcome_.values[r] = models_[r]->Copy();
    outcome_.loss /= 36;
    return outcome_;
  }

 private:
  void Update(int64_t batches) {
    std::vector<std::vector<double>> means(models_.size());
    std::vector<bool> has_data(models_.size());
    for (size_t r = 0; r < models_.size(); ++r) {
      int64_t count = 0;
      for (int64_t i = 0; i < batches; ++i) {
        const Batch* batch = *loaders_[r]->Next();
        if (batch == nullptr) break;
        outcome_.loss += models_[r]->AddGradients(*batch, means[r]);
        count += batch->count;
      }
      for (double& value : means[r]) value /= double(count);
      has_data[r] = count > 0;
    }
    const ModelSyncOptions& sync = case_.sync;
    const bool due = sync.frequency == 0 || (sync.frequency > 0 && updates_ % sync.frequency == 0);
    ++updates_;
    if (due && std::ranges::count(has_data, true) >= sync.min_available) {
      const std::vector<double> mean = Mix(Weights(sync.weighting, has_data), means);
      for (auto& model : models_) Follow(*model, mean);
      if (sync.frequency == 0) return;
      const bool all = sync.participation == Participation::kAll;
      AverageModels(all ? std::vector<bool>(models_.size(), true) : has_data);
    } else {
      for (size_t r = 0; r < models_.size(); ++r) {
        if (has_data[r]) Follow(*models_[r], means[r]);
      }
    }
  }

  static void Follow(Model& model, const std::vector<double>& gradient) {
    for (size_t i = 0; i < gradient.size(); ++i) model.values()[i] -= kRate * gradient[i];
  }

  void AverageModels(const std::vector<bool>& in) {
    std::vector<std::vector<double>> values;
    for (auto& model : models_) values.push_back(model->Copy());
    const std::vector<double> mean = Mix(Weights(case_.sync.weighting, in), values);
    for (auto& model : models_) std::ranges::copy(mean, model->values());
  }

  const Case case_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<std::unique_ptr<Loader>> loaders_;
  int64_t updates_ = 0;
  Outcome outcome_;
};

class LastEpoch : public Callback {
 public:
  explicit LastEpoch(Outcome& outcome) : outcome_(outcome) {}
  absl::Status OnBatchEnd(const Pass& pass) override {
    EXPECT_EQ(pass.steps, 5);
    EXPECT_EQ(pass.samples, 36);
    const int64_t done[] = {0, 14, 23, 28, 33, 36};
    EXPECT_EQ(pass.done, done[pass.step]);
    return absl::OkStatus();
  }
  absl::Status OnEpochEnd(const Pass& training, const Pass*) override {
    outcome_.loss = training.averages->Value(0);
    outcome_.samples = training.averages->samples();
    return absl::OkStatus();
  }

 private:
  Outcome& outcome_;
};

Outcome Train(const Case& c, const Graph& graph) {
  Outcome outcome;
  const absl::Status status = RunRanks(int(kSizes.size()), [&](Communicator& communicator) {
    SetNumThreads(1);
    const int rank = communicator.rank();
    const auto device = *DeviceContext::Create(Device::Cpu());
    const auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, SeedOf(c, rank));
    DTNN_ASSIGN_OR_RETURN(
        const auto trainer,
        Trainer::Create(graph, *store, *device,
                        {.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}},
                         .optimizer = std::make_shared<Sgd>(SgdOptions{.momentum = 0}),
                         .learning_rate = kRate,
                         .accumulate_steps = c.accumulate_steps,
                         .communicator = &communicator,
                         .model_sync = c.sync,
                         .initial_model_sync = c.initial,
                         .final_model_sync = c.final}));
    const std::unique_ptr<Loader> loader = LoaderOf(rank);
    Outcome own;
    LastEpoch watch(own);
    Callback* const callbacks[] = {&watch};
    DTNN_RETURN_IF_ERROR(trainer->Train(*loader, nullptr, kEpochs, callbacks));
    EXPECT_EQ(trainer->steps_done(), kEpochs * ((4 + c.accumulate_steps) / c.accumulate_steps));
    outcome.values[size_t(rank)] = Values(store->values());
    if (rank == 0) outcome.loss = own.loss;
    EXPECT_EQ(own.samples, 36) << "metrics are of all ranks";
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return outcome;
}

void ExpectAsSimulated(const Case& c) {
  SCOPED_TRACE(::testing::Message()
               << "frequency " << c.sync.frequency << ", weighting " << int(c.sync.weighting)
               << ", participation " << int(c.sync.participation) << ", min available "
               << c.sync.min_available << ", initial " << c.initial << ", final " << c.final
               << ", accumulating " << c.accumulate_steps);
  const Graph graph = SmallGraph();
  const Outcome expected = Simulation(c, graph).Run(), trained = Train(c, graph);
  for (size_t r = 0; r < kSizes.size(); ++r) {
    EXPECT_TRUE(Close(trained.values[r], expected.values[r], 1e-12)) << "rank " << r;
  }
  EXPECT_NEAR(trained.loss, expected.loss, 1e-12);
  const bool alike = c.final || (c.initial && c.sync.frequency == 0 && c.sync.min_available == 0);
  if (!alike) return;
  for (const auto& values : trained.values) EXPECT_EQ(values, trained.values[0]) << "bits";
}

using enum RankWeighting;

TEST(TrainerSyncTest, GradientsOfRanksWithDataOfTheirOwnAreWeighted) {
  for (const RankWeighting weighting : {kEqual, kSamples, kInverseSamples}) {
    for (const int min_available : {0, 2, 3}) {
      ExpectAsSimulated({.sync = {.weighting = weighting, .min_available = min_available}});
    }
  }
}

TEST(TrainerSyncTest, ModelsAreAveragedNowAndThen) {
  for (const RankWeighting weighting : {kEqual, kSamples, kInverseSamples}) {
    for (const Participation participation : {Participation::kAll, Participation::kWithData}) {
      for (const int64_t frequency : {1, 2, 3}) {
        for (const int min_available : {0, 2}) {
          for (const bool final : {true, false}) {
            ExpectAsSimulated(
                {.sync = {frequency, weighting, participation, min_available}, .final = final});
          }
        }
      }
    }
  }
}

TEST(TrainerSyncTest, RanksThatNeverMeetMeetAtTheEnd) {
  for (const bool final : {true, false}) {
    for (const bool initial : {true, false}) {
      ExpectAsSimulated(
          {.sync = {.frequency = -1, .weighting = kSamples}, .initial = initial, .final = final});
    }
  }
}

TEST(TrainerSyncTest, RanksMayBeginWithModelsOfTheirOwn) {
  for (const int64_t frequency : {0, 2}) {
    for (const bool final : {true, false}) {
      ExpectAsSimulated({.sync = {.frequency = frequency}, .initial = false, .final = final});
    }
  }
}

TEST(TrainerSyncTest, AnUpdateOfSeveralBatchesIsTheMeanOfTheirSamples) {
  for (const int64_t frequency : {-1, 0, 2}) {
    for (const int64_t accumulate_steps : {2, 3}) {
      ExpectAsSimulated({.sync = {.frequency = frequency, .weighting = kSamples},
                         .accumulate_steps = accumulate_steps});
    }
  }
}

// Batch normalisation within ranks of their own, and a validation that ranks have unequal parts of.
// Notes the running statistics after every epoch.
class StatisticsOfEpochs : public Callback {
 public:
  explicit StatisticsOfEpochs(const ParameterStore& store) : store_(store) {}
  absl::Status OnEpochEnd(const Pass&, const Pass*) override {
    epochs.push_back(Values(store_.statistics()));
    return absl::OkStatus();
  }
  std::vector<std::vector<double>> epochs;

 private:
  const ParameterStore& store_;
};

TEST(TrainerSyncTest, RunningStatisticsAndMetricsAreThoseOfAllRanks) {
  GraphBuilder b("normalised", TensorFormat::kNHWC);
  b.Input(kSample).Flatten().BatchNorm().Fc(3).Softmax();
  const Graph graph = *b.Build();
  for (const int64_t frequency : {-1, 0, 2}) {
    std::vector<std::vector<double>> values(kSizes.size()), metric_set(kSizes.size());
    std::vector<std::vector<std::vector<double>>> statistics(kSizes.size());
    const absl::Status status = RunRanks(int(kSizes.size()), [&](Communicator& communicator) {
      SetNumThreads(1);
      const auto device = *DeviceContext::Create(Device::Cpu());
      const auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
      DTNN_ASSIGN_OR_RETURN(
          const auto trainer,
          Trainer::Create(graph, *store, *device,
                          {.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}},
                           .optimizer = std::make_shared<Sgd>(SgdOptions{}),
                           .communicator = &communicator,
                           .model_sync = {.frequency = frequency}}));
      const int rank = communicator.rank();
      const std::unique_ptr<Loader> training = LoaderOf(rank), validation = LoaderOf(2 - rank);
      StatisticsOfEpochs watch(*store);
      Callback* const callbacks[] = {&watch};
      DTNN_RETURN_IF_ERROR(trainer->Train(*training, validation.get(), 2, callbacks));
      statistics[size_t(rank)] = watch.epochs;
      values[size_t(rank)] = Values(store->all_values());
      EXPECT_EQ(trainer->totals().training_samples, 2 * 36) << "all ranks', of two epochs";
      EXPECT_EQ(trainer->totals().validation_samples, 2 * 36) << "all ranks', of two epochs";
      EXPECT_EQ(trainer->totals().epoch_samples, 36);
      DTNN_ASSIGN_OR_RETURN(const MetricAverages averages, trainer->Evaluate(*validation, {}));
      EXPECT_EQ(averages.samples(), 36);
      metric_set[size_t(rank)] = averages.ToDoubles();
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    for (size_t r = 1; r < kSizes.size(); ++r) {
      EXPECT_EQ(values[r], values[0]) << "frequency " << frequency;
      EXPECT_EQ(metric_set[r], metric_set[0]);
      // Models that are alike but for their statistics validate alike, so after every epoch.
      if (frequency == 0) {
        EXPECT_EQ(statistics[r], statistics[0]);
      }
    }
  }
}

TEST(TrainerSyncTest, RefusesWhatCannotBe) {
  const Graph graph = SmallGraph();
  const auto refused = [&](const Case& c, bool sync_batch_norm) {
    return RunRanks(3, [&](Communicator& communicator) {
      const auto device = *DeviceContext::Create(Device::Cpu());
      const auto store = *ParameterStore::Create(graph, *device, DType::kFloat64, 1);
      DTNN_ASSIGN_OR_RETURN(
          const auto trainer,
          Trainer::Create(graph, *store, *device,
                          {.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}},
                           .optimizer = std::make_shared<Sgd>(SgdOptions{}),
                           .communicator = &communicator,
                           .sync_batch_norm = sync_batch_norm,
                           .model_sync = c.sync}));
      return trainer->Train(*LoaderOf(communicator.rank()), nullptr, 1, {});
    });
  };
  for (const absl::Status& status :
       {refused({.sync = {.min_available = 4}}, false), refused({.sync = {.frequency = 2}}, true),
        refused({}, true)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

}  // namespace
}  // namespace dtnn

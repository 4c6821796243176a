// What a run of training tells its observers, and what it costs it.

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "models/observe/trace/event_log.h"
#include "models/observe/trace/layer_facts.h"
#include "models/observe/trace/profile.h"
#include "models/observe/trace/simple_trace.h"
#include "models/testing/training_session.h"
#include "models/training/step/step_engine.h"
#include "models/zoo/zoo.h"
#include "tensor/status_macros.h"
#include "tensor/trace/observer_list.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::PatternTraining;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::ZeroTensor;

std::map<Activity, int64_t> Count(const std::vector<LoggedEvent>& events) {
  std::map<Activity, int64_t> counts;
  for (const LoggedEvent& logged : events) ++counts[logged.event.activity];
  counts.erase(Activity::kMemory);
  return counts;
}

// 48 samples in batches of 9, 12 in batches of 5 for validation.
TEST(TracedTrainingTest, AnEpochTellsAllThatItDoes) {
  EventLog log;
  TrainingSession session(PatternMlp());
  {
    const ScopedObserver watching(&log);
    ASSERT_TRUE(session.Train(1).ok());
  }
  const std::vector<LoggedEvent> events = log.Events();
  const std::map<Activity, int64_t> counts = Count(events);
  const int64_t steps = session.training->steps(), batches = session.validation->steps();
  EXPECT_EQ(counts.at(Activity::kTraining), 1);
  EXPECT_EQ(counts.at(Activity::kValidation), 1);
  EXPECT_EQ(counts.at(Activity::kStep), steps);
  EXPECT_EQ(counts.at(Activity::kEvaluate), batches);
  EXPECT_EQ(counts.at(Activity::kUpdate), steps);
  EXPECT_EQ(counts.at(Activity::kLoss), steps + batches);
  EXPECT_EQ(counts.at(Activity::kReadData), steps + batches);
  EXPECT_FALSE(counts.contains(Activity::kExchange));
  // What is done for training is not called validation.
  const auto pass_of = [&](const Event& done) {
    for (const auto& [pass, thread] : events) {
      const bool trains = pass.activity == Activity::kTraining;
      if (!trains && pass.activity != Activity::kValidation) continue;
      if (pass.begin <= done.begin && done.end <= pass.end) return pass.activity;
    }
    return Activity::kTest;
  };
  std::map<Activity, std::map<int, int64_t>> layers;
  int64_t samples = 0;
  std::set<int32_t> readers;
  for (const auto& [event, thread] : events) {
    EXPECT_LE(event.begin, event.end);
    if (event.layer >= 0) ++layers[event.activity][event.layer];
    if (event.activity == Activity::kStep) {
      samples += event.samples;
      EXPECT_EQ(pass_of(event), Activity::kTraining);
    }
    if (event.activity == Activity::kEvaluate) {
      EXPECT_EQ(pass_of(event), Activity::kValidation);
    }
    if (event.activity == Activity::kReadData) readers.insert(thread);
    EXPECT_EQ(event.activity == Activity::kReadData, thread != events[0].thread);
  }
  EXPECT_EQ(samples, 48);
  EXPECT_EQ(readers.size(), 2u) << "a thread per loader";
  EXPECT_FALSE(readers.contains(events[0].thread));
  // All fully connected layers, in both passes.
  for (const LayerFacts& layer : DescribeLayers(PatternMlp(), *session.store, {})) {
    if (layer.type != "FC") continue;
    EXPECT_EQ(layers[Activity::kForward][layer.id], steps) << layer.name;
    EXPECT_EQ(layers[Activity::kBackward][layer.id], steps) << layer.name;
    EXPECT_EQ(layers[Activity::kInference][layer.id], batches) << layer.name;
  }
}

TEST(TracedTrainingTest, AnEvaluationAfterTrainingIsATest) {
  TrainingSession session(PatternMlp());
  EventLog log;
  {
    const ScopedObserver watching(&log);
    ASSERT_EQ(session.trainer->Evaluate(*session.validation, {}).status(), absl::OkStatus());
  }
  const std::map<Activity, int64_t> counts = Count(log.Events());
  EXPECT_EQ(counts.at(Activity::kTest), 1);
  EXPECT_FALSE(counts.contains(Activity::kValidation));
}

TEST(TracedTrainingTest, EveryExchangeHasItsWait) {
  for (const bool blocking : {true, false}) {
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      EventLog log;
      SessionOptions options;
      options.training.communicator = &communicator;
      options.training.reducer = {.bucket_bytes = 1 << 18, .blocking = blocking};
      options.loading.rank = communicator.rank();
      options.loading.ranks = 2;
      options.validation_split = 0;
      TrainingSession session(PatternMlp(), options);
      {
        const ScopedObserver watching(&log);
        DTNN_RETURN_IF_ERROR(session.Train(1));
      }
      std::map<uint64_t, Event> started;
      int64_t waits = 0, bytes = 0, all_reduces = 0;
      for (const auto& [event, thread] : log.Events()) {
        if (event.activity == Activity::kExchange) {
          EXPECT_NE(event.flow, 0u);
          EXPECT_TRUE(started.emplace(event.flow, event).second);
          bytes += event.bytes;
        }
        if (event.activity == Activity::kWaitForGradients) {
          ++waits;
          EXPECT_TRUE(started.contains(event.flow));
          const Event& exchange = started[event.flow];
          EXPECT_LE(exchange.end, event.begin);
          EXPECT_EQ(exchange.first, event.first);
          EXPECT_EQ(exchange.last, event.last);
        }
        all_reduces += event.activity == Activity::kAllReduce;
      }
      const int64_t steps = session.training->steps();
      EXPECT_EQ(waits, int64_t(started.size()));
      EXPECT_GT(waits, steps) << "several buckets";
      EXPECT_EQ(bytes, steps * session.store->gradients().num_elements() * 4);
      EXPECT_GE(all_reduces, 1) << "the metrics of all ranks";
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(TracedTrainingTest, TracedStepsAllocateNothing) {
  const Graph graph = *BuildModel("simplecnn8", {});
  auto device = *DeviceContext::Create(Device::Cpu());
  auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, 1);
  auto engine = *StepEngine::Create(graph, *store, *device, PatternTraining());
  ASSERT_TRUE(engine->PrepareForTraining(8).ok());
  const std::vector<LayerFacts> layers = DescribeLayers(graph, *store, {});
  EventLog log;
  Profile profile(int(layers.size()) + 1);
  SimpleTrace simple(layers);
  ObserverList all({&log, &profile, &simple});
  const ScopedObserver watching(&all);
  const Batch batch{.x = RandomTensor(DType::kFloat32, graph.input_shape().Prepend(8), 1),
                    .targets = ZeroTensor(DType::kInt32, Shape{8}),
                    .count = 8,
                    .global_count = 8};
  MetricAverages averages = engine->NewAverages();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(engine->Step(batch, &averages).ok());
  bool ok = true;
  int64_t allocations = 0;
  {
    const dtnn::testing::AllocationCounter counter;
    for (int i = 0; i < 5; ++i) ok &= engine->Step(batch, &averages).ok();
    allocations = counter.count();
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_TRUE(ok);
  EXPECT_EQ(Count(log.Events())[Activity::kStep], 7);
  EXPECT_EQ(profile.training(Activity::kStep).calls, 7);
  EXPECT_GT(profile.layers()[1].backward.nanoseconds, 0);
}

}  // namespace
}  // namespace dtnn

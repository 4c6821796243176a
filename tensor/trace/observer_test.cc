#include "tensor/trace/observer.h"

#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/trace/observer_list.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

class Recorder : public Observer {
 public:
  void Begin(const Event& event) override {
    EXPECT_EQ(event.end, 0);
    begun.push_back(event.activity);
  }
  void End(const Event& event) override { ended.push_back(event); }

  std::vector<Activity> begun;
  std::vector<Event> ended;
};

TEST(ObserverTest, NobodyIsToldWithoutAnObserver) {
  EXPECT_EQ(CurrentObserver(), nullptr);
  const Span span({.activity = Activity::kStep});
}

TEST(ObserverTest, SpansNestAndCarryWhatTheyWereMadeWith) {
  Recorder recorder;
  {
    const ScopedObserver watching(&recorder);
    const Span step({.activity = Activity::kStep, .samples = 64});
    const Span layer({.activity = Activity::kForward, .layer = 5});
  }
  EXPECT_THAT(recorder.begun, ElementsAre(Activity::kStep, Activity::kForward));
  ASSERT_EQ(recorder.ended.size(), 2u);
  const Event& layer = recorder.ended[0];
  const Event& step = recorder.ended[1];
  EXPECT_EQ(layer.activity, Activity::kForward);
  EXPECT_EQ(layer.layer, 5);
  EXPECT_EQ(step.samples, 64);
  EXPECT_LE(step.begin, layer.begin);
  EXPECT_LE(layer.begin, layer.end);
  EXPECT_LE(layer.end, step.end);
  EXPECT_GT(step.begin, 0);
}

TEST(ObserverTest, ScopesEndWithTheObserverBefore) {
  Recorder outer, inner;
  const ScopedObserver watching(&outer);
  {
    const ScopedObserver closer(&inner);
    EXPECT_EQ(CurrentObserver(), &inner);
    const ScopedObserver nobody(nullptr);
    const Span span({.activity = Activity::kLoss});
  }
  EXPECT_EQ(CurrentObserver(), &outer);
  EXPECT_TRUE(inner.begun.empty());
}

TEST(ObserverTest, EveryThreadHasItsOwn) {
  Recorder recorder;
  const ScopedObserver watching(&recorder);
  std::thread([] { EXPECT_EQ(CurrentObserver(), nullptr); }).join();
}

TEST(ObserverTest, ListsTellAll) {
  Recorder first, second;
  ObserverList both({&first, &second});
  const ScopedObserver watching(&both);
  { const Span span({.activity = Activity::kUpdate, .bytes = 7}); }
  for (const Recorder* recorder : {&first, &second}) {
    ASSERT_EQ(recorder->ended.size(), 1u);
    EXPECT_EQ(recorder->ended[0].bytes, 7);
    EXPECT_EQ(recorder->begun.size(), 1u);
  }
  EXPECT_EQ(first.ended[0].end, second.ended[0].end) << "one reading of the clock";
}

TEST(ObserverTest, ActivitiesAndFlowsAreTold) {
  std::set<std::string_view> names;
  for (int i = 0; i < kActivities; ++i) names.insert(Name(Activity(i)));
  EXPECT_EQ(int(names.size()), kActivities);
  EXPECT_EQ(Name(Activity::kWaitForGradients), "wait for gradients");
  EXPECT_EQ(Name(Activity::kMemory), "memory");
  EXPECT_EQ(Name(Activity::kEnergy), "energy");
  const uint64_t flow = NewFlow();
  EXPECT_NE(flow, 0u);
  EXPECT_NE(NewFlow(), flow);
}

}  // namespace
}  // namespace dtnn

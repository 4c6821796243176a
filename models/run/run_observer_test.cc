#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "nlohmann/json.hpp"
#include "tensor/must.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int kSteps = 6;  // of an epoch

class RunObserverTest : public RunFixture {
 protected:
  RunOptions Profiled(int64_t epochs, const std::string& name) const {
    RunOptions options = Short(epochs);
    options.data.validation_split = 0;
    options.output.profile.file = In(name + ".json");
    options.output.trace = In(name + ".csv");
    options.output.report = In(name + ".html");
    return options;
  }
  int Steps(const std::string& name) const {
    return nlohmann::json::parse(Read(name + ".json")).at("steps");
  }
};

TEST_F(RunObserverTest, EachOfSeveralRunsWatchesItsOwnWork) {
  auto first = Begin(Profiled(1, "first"));
  auto second = Begin(Profiled(2, "second"));
  EXPECT_EQ(CurrentObserver(), nullptr);
  Must(first->Fit());
  first = nullptr;
  EXPECT_EQ(CurrentObserver(), nullptr);
  auto third = Begin(Profiled(3, "third"));
  Must(second->Fit());
  second = nullptr;
  EXPECT_EQ(CurrentObserver(), nullptr);
  Must(third->Fit());
  Must(third->Evaluate());
  third->End();
  EXPECT_EQ(Steps("first"), 1 * kSteps);
  EXPECT_EQ(Steps("second"), 2 * kSteps);
  EXPECT_EQ(Steps("third"), 3 * kSteps);
  EXPECT_THAT(Read("second.html"), HasSubstr("forward"));
}

TEST_F(RunObserverTest, WhicheverThreadWorksIsWatched) {
  auto run = Begin(Profiled(2, "run"));
  std::thread([&] {
    Must(run->Fit());
    EXPECT_EQ(CurrentObserver(), nullptr);
  }).join();
  Must(run->Fit(1));
  std::thread([&] { run = nullptr; }).join();
  EXPECT_EQ(CurrentObserver(), nullptr);
  EXPECT_EQ(Steps("run"), 3 * kSteps);
  EXPECT_THAT(Read("run.csv"), HasSubstr("Model;6;1_Conv2D_forward;18;"));
}

// What a program watches, it also sees of a run that watches nothing itself.
TEST_F(RunObserverTest, AProgramMayWatch) {
  struct CountSteps : Observer {
    void End(const Event& event) override { count += event.activity == Activity::kStep; }
    int count = 0;
  };
  CountSteps steps;
  const ScopedObserver watching(&steps);
  RunOptions options = Short(1);
  options.data.validation_split = 0;
  Must(Begin(options)->Fit());
  EXPECT_EQ(steps.count, kSteps);
  EXPECT_EQ(CurrentObserver(), &steps);
}

}  // namespace
}  // namespace dtnn

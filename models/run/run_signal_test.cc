// RunObjects::stop_on_signal.

#include <csignal>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/run/run.h"
#include "models/run/testing/run_fixture.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using RunSignalTest = RunFixture;

// Sends this process a signal in the second step of the first epoch.
struct Sender : Callback {
  absl::Status OnBatchBegin(const Pass& pass) override {
    const bool training = pass.kind == Pass::Kind::kTraining;
    if (training && pass.epoch == 0 && pass.step == 1) std::raise(SIGTERM);
    return absl::OkStatus();
  }
};

TEST_F(RunSignalTest, EndsTheRunAfterTheStepWithACheckpointThatContinues) {
  RunOptions options = Short(2);
  const auto whole = Begin(options);
  Must(whole->Fit());

  options.checkpoint = {.folder = In("c"), .resume = Resume::kIfThere};
  Sender sender;
  RunObjects objects = Objects();
  objects.stop_on_signal = true;
  objects.callbacks = {&sender};
  {
    const auto run = Begin(options, objects);
    const absl::Status status = run->Fit();
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("stopped by SIGTERM after 2 steps"));
    EXPECT_EQ(run->trainer().steps_done(), 2);
  }
  objects.callbacks = {};
  const auto resumed = Begin(options, objects);
  EXPECT_EQ(resumed->trainer().steps_done(), 2);
  Must(resumed->Fit());
  EXPECT_EQ(Parameters(*resumed), Parameters(*whole)) << "to the last bit";
}

TEST_F(RunSignalTest, AnEndedRunCanBeTestedAndSavedUntilEnd) {
  Sender sender;
  RunObjects objects = Objects();
  objects.stop_on_signal = true;
  objects.callbacks = {&sender};
  const auto run = Begin(Short(2), objects);
  EXPECT_TRUE(absl::IsCancelled(run->Fit()));
  EXPECT_THAT(Message(run->Fit()), HasSubstr("has ended"));
  EXPECT_TRUE(run->Evaluate().ok());
  Must(run->Save(In("m.safetensors")));
  EXPECT_EQ(Model("m.safetensors").description.training.epochs, 0);
  run->End();
  EXPECT_THAT(Message(run->Evaluate().status()), HasSubstr("has ended"));
  EXPECT_THAT(Message(run->Save(In("m.safetensors"))), HasSubstr("has ended"));
}

TEST_F(RunSignalTest, WithoutItASignalEndsTheProcess) {
  Sender sender;
  RunObjects objects = Objects();
  objects.callbacks = {&sender};
  EXPECT_EXIT(Begin(Short(1), objects)->Fit().IgnoreError(), ::testing::KilledBySignal(SIGTERM),
              "");
}

}  // namespace
}  // namespace dtnn

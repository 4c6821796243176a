// What a run that resumes may do otherwise than the one that it continues, what it says of it, and
// which parameters a run ends with.

#include <filesystem>
#include <string>

#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using testing::Contents;
using ::testing::HasSubstr;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;

// Five steps per epoch.
constexpr char kRun[] =
    "--model=simplecnn --dataset=synthetic --synthetic-pattern=classes "
    "--synthetic-input-shape=1,8,8 --synthetic-output-shape=3 --synthetic-train-samples=50 "
    "--synthetic-test-samples=20 --batch-size=8 ";
// With --early-stopping-minimize=False a falling loss makes the first epoch the best.
constexpr char kFirstIsBest[] =
    "--schedulers=early_stopping --early-stopping-metric=categorical_cross_entropy "
    "--early-stopping-minimize=False ";

Outcome Launch(const std::string& arguments) {
  return testing::Launch("apps/benchmark", kRun + arguments);
}

std::string TestLoss(const std::string& text) {
  const size_t at = text.rfind("test_cce: ");
  return at == std::string::npos ? "no test in\n" + text : text.substr(at, 19);
}

TEST(BenchmarkResumeTest, WhatIsOtherIsSaidAndForgottenWhereItCannotBeCompared) {
  const std::string checkpoints = "--checkpoint-dir=" + NewFolder("other_settings") + " ";
  ASSERT_EQ(Launch(checkpoints + "--loss-func=mse --validation-split=0.2").exit_code, 0);
  const Outcome resumed = Launch(
      checkpoints +
      "--resume --num-epochs=6 --validation-split=0.5 --augment=flip --mixup=0.2 --normalize "
      "--accumulate-steps=3 --reduce-lr-on-plateau-metric=val_categorical_accuracy "
      "--early-stopping-patience=3");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  for (const char* text :
       {"the --loss-func was mse and is now categorical_cross_entropy",
        "the --validation-split was 0.2 and is now 0.5",
        "the list of transforms was none and is now flip:0.5,mixup:0.2",
        "the preprocessing of the samples was byte / 255, not normalised and is now byte / 255, "
        "offset -0.45, scale 3.75",
        "the --accumulate-steps was 1 and is now 3",
        "the --reduce-lr-on-plateau-metric was val_mse and is now val_categorical_accuracy",
        "the --early-stopping-patience was 10 and is now 3",
        "metrics are not those of before, so the best values of early_stopping, "
        "reduce_lr_on_plateau are forgotten"}) {
    EXPECT_THAT(resumed.text, HasSubstr("benchmark: warning: resumed run: " + std::string(text)));
  }
  EXPECT_THAT(resumed.text, HasSubstr("Epoch 6/6"));
}

TEST(BenchmarkResumeTest, AnEpochContinuesWithTheSameSamplesOnly) {
  const std::string folder = NewFolder("same_samples");
  const std::string run = "--synthetic-train-samples=100 --checkpoint-dir=" + folder + " ";
  ASSERT_EQ(Launch(run + "--dataset-part=1/2 --checkpoint-steps=2").exit_code, 0);
  std::filesystem::remove(folder + "/checkpoint-5.npz");  // the end of the epoch
  const Outcome part = Launch(run + "--dataset-part=2/2 --resume");
  EXPECT_EQ(part.exit_code, 1);
  EXPECT_THAT(part.text,
              HasSubstr("checkpoint-4.npz: epoch 1 was interrupted and cannot be continued: the "
                        "--dataset-part was 1/2 and is now 2/2; use the old value"));
  const Outcome split = Launch(run + "--dataset-part=1/2 --validation-split=0.21 --resume");
  EXPECT_EQ(split.exit_code, 1);
  EXPECT_THAT(split.text, HasSubstr("the --validation-split was 0.2 and is now 0.21"));
  const Outcome same = Launch(run + "--dataset-part=1/2 --early-stopping-patience=3 --resume");
  EXPECT_EQ(same.exit_code, 0) << same.text;
  EXPECT_THAT(same.text, HasSubstr("the --early-stopping-patience was 10 and is now 3"));
}

TEST(BenchmarkResumeTest, AFolderThatIsMistypedIsNotANewRun) {
  const std::string folder = NewFolder("mistyped");
  const Outcome refused = Launch("--checkpoint-dir=" + folder + "/a --resume");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.text, HasSubstr("benchmark: --resume: " + folder +
                                      "/a does not exist; --resume=if-there starts a new run "
                                      "then\n"));
  EXPECT_THAT(refused.text, Not(HasSubstr("Epoch 1")));
  EXPECT_FALSE(std::filesystem::exists(folder + "/a")) << "it is not made";
  std::filesystem::create_directory(folder + "/a");
  EXPECT_THAT(Launch("--checkpoint-dir=" + folder + "/a --resume").text,
              HasSubstr("benchmark: --resume: " + folder +
                        "/a contains no checkpoint; --resume=if-there starts a new run then\n"));
  const std::string run = "--checkpoint-dir=" + folder + "/a --resume=if-there ";
  const Outcome begun = Launch(run);
  EXPECT_EQ(begun.exit_code, 0) << begun.text;
  EXPECT_THAT(begun.text, AllOf(HasSubstr("a contains no checkpoint; starting a new run"),
                                HasSubstr("Epoch 1/1")));
  const Outcome resumed = Launch(run + "--num-epochs=2");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from "));
}

TEST(BenchmarkResumeTest, AScheduleOverALongerRunIsToldOf) {
  const std::string run =
      "--schedulers=cosine --checkpoint-dir=" + NewFolder("longer") + " --num-epochs=";
  ASSERT_EQ(Launch(run + "2").exit_code, 0);
  EXPECT_THAT(
      Launch(run + "4 --resume").text,
      HasSubstr("warning: resumed run: the number of epochs was 2 and is now 4: schedules "
                "over the whole run continue with 0.5 of the learning rate instead of 0\n"));
}

// Checkpoints of a version that saved neither a run's choices nor the epochs of kept parameters.
TEST(BenchmarkResumeTest, OlderCheckpointsAreContinued) {
  const std::string folder = NewFolder("older");
  std::filesystem::copy_file("apps/launcher/runs/testdata/older_checkpoint-4.npz",
                             folder + "/checkpoint-4.npz");
  const std::string run =
      "--model=simplecnn8 --synthetic-input-shape=1,4,4 --synthetic-test-samples=10 "
      "--schedulers=warm_up --history-file=" +
      folder + "/h.csv --checkpoint-dir=" + folder;
  const Outcome resumed = Launch(run + " --resume --num-epochs=2");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("checkpoint-4.npz, 4 steps done"));
  EXPECT_THAT(resumed.text,
              HasSubstr("checkpoint-4.npz: was written by an older version, which did "
                        "not save all settings the run had"));
  EXPECT_THAT(resumed.text, HasSubstr("Epoch 2/2"));
}

// The model says which epoch its parameters are of, and what that epoch came to.
TEST(BenchmarkResumeTest, ARunThatEarlyStoppingEndsSavesTheEpochItRestores) {
  const std::string folder = NewFolder("restored"), model = folder + "/m.safetensors";
  const Outcome one = Launch("--evaluate --num-epochs=1 --schedulers=");
  const Outcome stopped =
      Launch(std::string(kFirstIsBest) +
             "--evaluate --num-epochs=9 --early-stopping-patience=3 --save-model=" + model +
             " --checkpoint-dir=" + folder + "/c");
  ASSERT_EQ(stopped.exit_code, 0) << stopped.text;
  EXPECT_THAT(stopped.text,
              HasSubstr("EarlyStopping: restored the parameters of epoch 1, which has "
                        "the best categorical_cross_entropy"));
  EXPECT_THAT(stopped.text, Not(HasSubstr("Epoch 5/9")));
  EXPECT_EQ(TestLoss(stopped.text), TestLoss(one.text));
  const std::string first = Contents(model);
  EXPECT_THAT(first, AllOf(HasSubstr(" epochs: 1\\n"), HasSubstr(" run_epochs: 4\\n")));
  // Where nothing is left to train, the file is the same.
  ASSERT_EQ(Launch(std::string(kFirstIsBest) +
                   "--evaluate --num-epochs=9 --early-stopping-patience=3 --resume "
                   "--save-model=" +
                   model + " --checkpoint-dir=" + folder + "/c")
                .exit_code,
            0);
  EXPECT_TRUE(Contents(model) == first);
}

TEST(BenchmarkResumeTest, AModelSaysHowItWasTrained) {
  const std::string model = NewFolder("record") + "/m.safetensors";
  ASSERT_EQ(
      Launch("--optimizer=adamw --learning-rate=0.25 --schedulers=cosine --save-model=" + model)
          .exit_code,
      0);
  const std::string text = Contents(model);
  EXPECT_THAT(text,
              AllOf(HasSubstr("optimizer: \\\"adamw\\\""), HasSubstr("learning_rate: 0.25\\n"),
                    HasSubstr("key: \\\"beta1\\\"\\n    value: 0.9\\n"),
                    HasSubstr("key: \\\"decay\\\"\\n    value: 0.01\\n")));
}

// Initial values belong to places in the network, not in memory.
TEST(BenchmarkResumeTest, BothFormatsBeginWithTheSameNetwork) {
  const Outcome nhwc = Launch("--evaluate-only --tensor-format=NHWC");
  const Outcome nchw = Launch("--evaluate-only --tensor-format=NCHW");
  EXPECT_THAT(TestLoss(nhwc.text), HasSubstr("test_cce: "));
  EXPECT_NEAR(std::stod(TestLoss(nhwc.text).substr(10)), std::stod(TestLoss(nchw.text).substr(10)),
              1e-5);
}

TEST(BenchmarkResumeTest, APatienceThatOutlivesTheRunRestoresTheBestToo) {
  const std::string folder = NewFolder("patience");
  const auto run = [&](const std::string& name, const std::string& more) {
    return Launch(kFirstIsBest + ("--evaluate --checkpoint-dir=" + folder + "/" + name) +
                  " --history-file=" + folder + "/" + name + ".csv --save-model=" + folder + "/" +
                  name + ".safetensors " + more);
  };
  const Outcome one = Launch("--evaluate --num-epochs=1 --schedulers=");
  const Outcome two = run("short", "--num-epochs=2");
  ASSERT_EQ(two.exit_code, 0) << two.text;
  EXPECT_THAT(two.text, HasSubstr("EarlyStopping: restored the parameters of epoch 1"));
  EXPECT_EQ(TestLoss(two.text), TestLoss(one.text));
  const std::string model = Contents(folder + "/short.safetensors");
  EXPECT_THAT(model, AllOf(HasSubstr(" epochs: 1\\n"), HasSubstr(" run_epochs: 2\\n")));
  ASSERT_EQ(run("short", "--num-epochs=2 --resume").exit_code, 0);
  EXPECT_TRUE(Contents(folder + "/short.safetensors") == model) << "nothing was left to train";
  // A run with more epochs continues with what the last one came to.
  ASSERT_EQ(run("short", "--num-epochs=4 --resume").exit_code, 0);
  ASSERT_EQ(run("long", "--num-epochs=4").exit_code, 0);
  EXPECT_EQ(Contents(folder + "/short.csv"), Contents(folder + "/long.csv"));
}

}  // namespace
}  // namespace dtnn

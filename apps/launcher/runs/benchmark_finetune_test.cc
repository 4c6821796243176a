// A network whose weights were trained on other classes, trained on as a whole or in its last layer
// alone.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/testing/mpi_job.h"
#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MpiJob;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::Values;

constexpr char kProgram[] = "apps/benchmark";
constexpr char kHead[] = "--freeze=*Conv2D,5_FC";

// A run on data of `classes` classes; five steps.
std::vector<std::string> Arguments(int classes, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"--model=simplecnn",
                                        "--dataset=synthetic",
                                        "--synthetic-pattern=classes",
                                        "--synthetic-input-shape=1,8,8",
                                        "--synthetic-output-shape=" + std::to_string(classes),
                                        "--synthetic-train-samples=50",
                                        "--synthetic-test-samples=20",
                                        "--global-batch-size=8",
                                        "--optimizer-decay=0.1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

class FinetuneTest : public ::testing::Test {
 protected:
  FinetuneTest()
      : folder_(NewFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())),
        base_(folder_ + "/base/checkpoint-5.npz") {
    const Outcome trained = Run(3, {"--checkpoint-dir=" + folder_ + "/base"});
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
  }
  static Outcome Run(int classes, const std::vector<std::string>& more) {
    return testing::Process(kProgram, Arguments(classes, more)).Wait();
  }
  // Loaded from the base, with checkpoints in folder `name`.
  std::vector<std::string> Tuning(const std::string& name, std::vector<std::string> more) const {
    more.insert(more.end(), {"--weights-and-bias-filename=" + base_,
                             "--checkpoint-dir=" + folder_ + "/" + name});
    return more;
  }
  std::vector<double> ValuesIn(const std::string& name, const std::string& key) const {
    const std::string path = folder_ + "/" + name + "/checkpoint-5.npz";
    return Values(*NpzReader::Open(path)->Read(key));
  }
  // The frozen keep the bits of the base.
  void ExpectOnlyTheHeadTrained(const std::string& name) const {
    for (const char* key : {"1_Conv2D_weights", "1_Conv2D_biases", "2_Conv2D_weights",
                            "2_Conv2D_biases", "5_FC_weights", "5_FC_biases"}) {
      EXPECT_EQ(ValuesIn(name, key), ValuesIn("base", key)) << key;
    }
    const NpzReader file = *NpzReader::Open(folder_ + "/" + name + "/checkpoint-5.npz");
    EXPECT_FALSE(file.Contains("__slot0__5_FC_weights"));
    EXPECT_TRUE(file.Contains("__slot0__8_FC_weights"));
  }

  const std::string folder_, base_;
};

TEST_F(FinetuneTest, ANewHeadIsTrainedOnLayersThatAreFrozenOrNot) {
  const Outcome refused = Run(4, Tuning("refused", {}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.text, HasSubstr("\"8_FC_weights\" of layer 8 (FC) has shape (128, 3), but "
                                      "model simplecnn needs (128, 4)\n"));

  const Outcome whole = Run(4, Tuning("whole", {"--weights-partial"}));
  ASSERT_EQ(whole.exit_code, 0) << whole.text;
  EXPECT_THAT(whole.text, AllOf(HasSubstr("**** Loaded 6 of 8 arrays of weights from " + base_),
                                HasSubstr("has shape (128, 3), but model simplecnn needs (128, 4): "
                                          "the parameter keeps its initial values\n"),
                                HasSubstr("has shape (3,), but model simplecnn needs (4,)"),
                                Not(HasSubstr("frozen"))));
  EXPECT_NE(ValuesIn("whole", "1_Conv2D_weights"), ValuesIn("base", "1_Conv2D_weights"));

  const Outcome head = Run(4, Tuning("head", {"--weights-partial", kHead, "--verbose"}));
  ASSERT_EQ(head.exit_code, 0) << head.text;
  EXPECT_THAT(head.text, AllOf(HasSubstr("|  5 *  |"), HasSubstr("|   8   |"),
                               HasSubstr("Trainable parameters       516 ")));
  ExpectOnlyTheHeadTrained("head");
}

TEST_F(FinetuneTest, LayersOfANetworkThatAFileNamesAreFrozenToo) {
  std::vector<std::string> arguments = Arguments(3, Tuning("named", {kHead}));
  arguments.erase(arguments.begin());  // --model
  const Outcome head = testing::Process(kProgram, arguments).Wait();
  ASSERT_EQ(head.exit_code, 0) << head.text;
  ExpectOnlyTheHeadTrained("named");
}

// Its outputs are made for that loss.
TEST_F(FinetuneTest, ASavedModelTrainsOnWithItsLoss) {
  const std::string file = folder_ + "/labels.safetensors";
  ASSERT_EQ(Run(3, {"--loss-func=binary_cross_entropy", "--save-model=" + file}).exit_code, 0);
  const auto tune = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = Arguments(3, {"--weights-and-bias-filename=" + file});
    arguments.erase(arguments.begin());  // --model
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::Process(kProgram, arguments).Wait();
  };
  const Outcome on = tune({});
  EXPECT_EQ(on.exit_code, 0) << on.text;
  EXPECT_THAT(on.text, AllOf(HasSubstr("val_bce: "), Not(HasSubstr("cce: "))));
  const Outcome other = tune({"--loss-func=categorical_cross_entropy"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, HasSubstr("ends in Sigmoid, but loss categorical_cross_entropy needs "
                                    "probabilities of classes"));
  // A network that is named has an end of its own for the same parameters.
  const Outcome named = Run(3, {"--weights-and-bias-filename=" + file});
  EXPECT_THAT(named.text, HasSubstr("warning: " + file +
                                    ": was trained with loss "
                                    "binary_cross_entropy; this run has "
                                    "--loss-func=categorical_cross_entropy\n"));
}

TEST_F(FinetuneTest, SeveralRanksTrainTheHeadAsOneDoes) {
  const Outcome alone = Run(4, Tuning("alone", {"--weights-partial", kHead}));
  ASSERT_EQ(alone.exit_code, 0) << alone.text;
  const Outcome ranks =
      MpiJob(kProgram,
             Arguments(4, Tuning("ranks", {"--weights-partial", kHead, "--parallel=data"})),
             {.ranks = 2})
          .Wait();
  ASSERT_EQ(ranks.exit_code, 0) << ranks.text;
  ExpectOnlyTheHeadTrained("ranks");
  EXPECT_NE(ValuesIn("ranks", "8_FC_biases"), std::vector<double>(4));
}

TEST_F(FinetuneTest, AResumedRunFreezesTheSameLayers) {
  const std::string checkpoints = "--checkpoint-dir=" + folder_ + "/base";
  const Outcome other = Run(3, {checkpoints, "--resume", "--num-epochs=2", kHead});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(
      other.text,
      HasSubstr(base_ + ": is a checkpoint of a run in which layer 1_Conv2D trained; in this one "
                        "it is frozen. Freeze the same layers to resume it, or load only its "
                        "parameters (--weights-and-bias-filename) to start a new run"));
  ASSERT_EQ(Run(4, Tuning("head", {"--weights-partial", kHead})).exit_code, 0);
  const Outcome resumed = Run(4, {"--checkpoint-dir=" + folder_ + "/head", "--resume",
                                  "--num-epochs=2", "--freeze=1-5"});  // the same layers
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
}

TEST_F(FinetuneTest, AJobThatIsRestartedBeginsWithTheWeightsOnce) {
  const std::string more = "--resume=if-there", epochs = "--num-epochs=2";
  ASSERT_EQ(Run(3, Tuning("whole", {epochs})).exit_code, 0);
  const Outcome begun = Run(3, Tuning("restarted", {more}));
  ASSERT_EQ(begun.exit_code, 0) << begun.text;
  EXPECT_THAT(begun.text, HasSubstr("**** Loaded 8 of 8 arrays of weights from " + base_));
  const Outcome restarted = Run(3, Tuning("restarted", {more, epochs}));
  ASSERT_EQ(restarted.exit_code, 0) << restarted.text;
  EXPECT_THAT(restarted.text,
              AllOf(HasSubstr("**** Resuming from "), Not(HasSubstr("**** Loaded "))));
  const auto end = [&](const std::string& name) {
    return Values(
        *NpzReader::Open(folder_ + "/" + name + "/checkpoint-10.npz")->Read("8_FC_weights"));
  };
  EXPECT_EQ(end("restarted"), end("whole"));
  EXPECT_EQ(Run(3, Tuning("restarted", {"--resume"})).exit_code, 2);
}

TEST_F(FinetuneTest, LayersThatAreNotThereAreWrongUsage) {
  const Outcome unknown = Run(3, {"--freeze=1-4,6_FC"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.text,
              HasSubstr("benchmark: --freeze: \"6_FC\" matches no layer with parameters of model "
                        "simplecnn; it has 4, \"1_Conv2D\" to \"8_FC\"; did you mean \"5_FC\"?"));
  EXPECT_THAT(
      Run(3, {"--evaluate-only", kHead}).text,
      HasSubstr("warning: --freeze, --optimizer-decay have no effect with --evaluate-only\n"));
}

TEST_F(FinetuneTest, ADryRunShowsTheMemoryThatFreezingSaves) {
  const auto row = [](const std::string& text, const std::string& name) {
    const size_t at = text.find("  " + name);
    EXPECT_NE(at, std::string::npos) << text;
    const size_t begin = text.find(": ", at) + 2;
    const char unit = text[text.find(' ', begin) + 1];
    return std::atof(text.c_str() + begin) * (unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1);
  };
  const Outcome whole = Run(3, {"--dry-run"}), head = Run(3, {"--dry-run", kHead});
  ASSERT_EQ(head.exit_code, 0) << head.text;
  EXPECT_THAT(head.text, HasSubstr("* frozen"));
  for (const char* name : {"gradients of the parameters", "optimizer (sgd)",
                           "gradients of activations", "shared by the three above", "all"}) {
    EXPECT_LT(row(head.text, name), row(whole.text, name)) << name;
  }
}

TEST_F(FinetuneTest, ADryRunTakesTheNetworkOfAFileAsARunDoes) {
  const auto dry_run = [&](int classes, std::vector<std::string> more) {
    more.insert(more.end(), {"--weights-and-bias-filename=" + base_, "--dry-run"});
    std::vector<std::string> arguments = Arguments(classes, more);
    arguments.erase(arguments.begin());  // --model
    return testing::Process(kProgram, arguments).Wait();
  };
  const Outcome whole = dry_run(3, {}), head = dry_run(3, {kHead}), other = dry_run(4, {});
  ASSERT_EQ(whole.exit_code, 0) << whole.text;
  EXPECT_EQ(whole.text, Run(3, {"--dry-run"}).text);
  EXPECT_EQ(head.text, Run(3, {"--dry-run", kHead}).text);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, HasSubstr(base_ + ": its network takes samples of "));
}

}  // namespace
}  // namespace dtnn

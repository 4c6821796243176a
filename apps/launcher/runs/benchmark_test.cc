// The launcher as a user meets it: output, one-line errors, exit codes.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "apps/testing/process.h"
#include "gtest/gtest.h"

namespace {

using dtnn::testing::Outcome;

Outcome Launch(const std::string& arguments) {
  return dtnn::testing::Launch("apps/benchmark", arguments);
}

int Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(BenchmarkTest, HelpAndListsEndWell) {
  for (const char* arguments :
       {"--help", "-h", "--help=all", "--help=dataset", "--help=dataset_path"}) {
    const Outcome outcome = Launch(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments;
    EXPECT_NE(outcome.text.find("--dataset-path"), std::string::npos) << arguments;
  }
  const Outcome models = Launch("--model=list");
  EXPECT_EQ(models.exit_code, 0);
  EXPECT_NE(
      models.text.find("\nsimplecnn                (28, 28, 1)       101958        242752  no"),
      std::string::npos)
      << models.text;
  const Outcome datasets = Launch("--dataset=list");
  EXPECT_EQ(datasets.exit_code, 0);
  EXPECT_NE(datasets.text.find("mnist\n"), std::string::npos);
  EXPECT_NE(datasets.text.find("\ncifar10\n"), std::string::npos);
}

TEST(BenchmarkTest, WrongUsageIsOneLineAndExitCode2) {
  for (const char* arguments :
       {"--evaluate", "--nonsense", "x", "--model=simplecnn --dataset=mnist --num-epochs=-1",
        "--model=vgg61 --dataset=mnist", "--model=simplecnn --dataset=cifar10",
        "--model=simplecnn --dataset=mnist --tracing", "--help=nonsense",
        "--model=simplecnn --dataset=mnist --batch-size=1 --global-batch-size=1",
        "--model=simplecnn --dataset=synthetic --synthetic-train-samples=4000000000",
        "--quiet --model=simplecnn --dataset=synthetic --synthetic-output-shape=1",
        "--model=simplecnn --dataset=synthetic --steps-per-epoch=1e300"}) {
    const Outcome outcome = Launch(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(Lines(outcome.text), 1) << outcome.text;
    EXPECT_TRUE(outcome.text.starts_with("benchmark: --") ||
                outcome.text.starts_with("benchmark: argument "))
        << outcome.text;
  }
}

TEST(BenchmarkTest, SavesTheLearningRateThatItFinds) {
  const std::string folder = ::testing::TempDir() + "found";
  std::filesystem::create_directories(folder);
  const auto contents = [&](const char* name) {
    std::ifstream file(folder + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const Outcome first = Launch(
      "--model=simplemlp --dataset=synthetic --synthetic-pattern=classes "
      "--synthetic-input-shape=1,8,8 "
      "--synthetic-output-shape=4 --synthetic-train-samples=200 --num-epochs=2 --schedulers= "
      "--batch-size=20 --find-learning-rate --save-options=" +
      folder + "/used.yaml --history-file=" + folder + "/a.csv");
  ASSERT_EQ(first.exit_code, 0) << first.text;
  EXPECT_NE(first.text.find("\n**** Learning rate: "), std::string::npos) << first.text;
  const std::string saved = contents("/used.yaml");
  EXPECT_NE(saved.find("\nlearning-rate: "), std::string::npos) << saved;
  EXPECT_NE(saved.find("\nfind-learning-rate: False\n"), std::string::npos) << saved;
  const Outcome again =
      Launch("--options=" + folder + "/used.yaml --history-file=" + folder + "/b.csv");
  ASSERT_EQ(again.exit_code, 0) << again.text;
  EXPECT_EQ(contents("/a.csv"), contents("/b.csv"));
}

TEST(BenchmarkTest, ProgressIsShownAsAsked) {
  const std::string run =
      "--model=simplemlp --dataset=synthetic --synthetic-input-shape=1,4,4 --num-epochs=3 "
      "--synthetic-train-samples=40 --evaluate --quiet --progress=";
  const auto epochs = [&](const std::string& progress) {
    const Outcome outcome = Launch(run + progress);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("test_acc"), std::string::npos) << "results are always shown";
    EXPECT_NE(outcome.text.find("**** Done"), std::string::npos);
    const bool redrawn = outcome.text.find('\r') != std::string::npos;
    EXPECT_EQ(redrawn, progress == "bar") << outcome.text;
    int count = 0;
    for (const char* epoch : {"Epoch 1/3: 100%", "Epoch 2/3: 100%", "Epoch 3/3: 100%"}) {
      count += outcome.text.find(epoch) != std::string::npos;
    }
    return count;
  };
  EXPECT_EQ(epochs("auto"), 3);
  EXPECT_EQ(epochs("line"), 3);
  EXPECT_EQ(epochs("bar"), 3);
  EXPECT_EQ(epochs("none"), 0);
  EXPECT_EQ(Launch("--progress=dots").exit_code, 2);
}

TEST(BenchmarkTest, ErrorsGoToTheStandardErrorOnly) {
  EXPECT_EQ(Launch("--nonsense 2>/dev/null").text, "");
  EXPECT_EQ(Launch("--help 2>&1 >/dev/null").text, "");
}

constexpr char kSmallRun[] =
    "--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,8,8 "
    "--synthetic-output-shape=3 --synthetic-train-samples=50 --synthetic-test-samples=20 ";

TEST(BenchmarkTest, TrainsAndEvaluates) {
  for (const char* more : {"", "--tensor-format=NCHW --dtype=float64 --optimizer=adam"}) {
    const Outcome outcome =
        Launch(std::string(kSmallRun) + "--num-epochs=2 --batch-size=16 --evaluate " + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    size_t at = 0;
    for (const char* text : {"**** Loading synthetic dataset...",
                             "**** simplecnn model...",
                             " parameters (",
                             "**** Parameters (",
                             "**** Running on cpu",
                             "**** Samples of 8x8x1: 40 to train on in ",
                             "**** Evaluating on test dataset...",
                             "20/20",
                             "test_acc: ",
                             "**** Training...",
                             "Epoch 1/2: 100%",
                             "40/40",
                             "val_acc: ",
                             "Epoch 2/2: 100%",
                             "**** Done...",
                             " samples/s, validation included\n",
                             "Testing: 100%",
                             "| Performance counter training report |",
                             "Training time (from model): ",
                             "Training mean memory: ",
                             "| Performance counter testing report |",
                             "Testing time (from model): "}) {
      at = outcome.text.find(text, at);
      ASSERT_NE(at, std::string::npos) << text << " is missing or out of order in\n"
                                       << outcome.text;
    }
  }
}

TEST(BenchmarkTest, ACpuComputesIn16Bits) {
  const std::string run =
      "--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,8,8 "
      "--synthetic-pattern=classes --synthetic-output-shape=3 --synthetic-train-samples=60 "
      "--synthetic-test-samples=20 --batch-size=20 --num-epochs=2 --optimizer=adam "
      "--optimizer-beta1=0.9 --evaluate --math-mode=bf16 ";
  for (const char* more : {"", "--tensor-format=NCHW", "--enable-best-of", "--accumulate-steps=2",
                           "--evaluate-only"}) {
    const Outcome outcome = Launch(run + more);
    EXPECT_EQ(outcome.exit_code, 0) << more << ": " << outcome.text;
    EXPECT_NE(outcome.text.find("**** Running on cpu in bf16"), std::string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("test_acc: "), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("nan"), std::string::npos) << outcome.text;
  }
  // The float32 activations of a dry run take twice as much.
  const auto activations = [&](const std::string& mode) {
    const Outcome outcome = Launch("--model=vgg16_cifar10 --dataset=cifar10 --dry-run" + mode);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return outcome.text.substr(outcome.text.find("activations"));
  };
  EXPECT_NE(activations(" --math-mode=bf16"), activations(""));
}

TEST(BenchmarkTest, StepsPerEpochLimitTrainingOnly) {
  const Outcome outcome = Launch(std::string(kSmallRun) +
                                 "--num-epochs=1 --batch-size=8 --steps-per-epoch=2 --evaluate");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find(" 16/16"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" 20/20"), std::string::npos) << outcome.text;
  EXPECT_EQ(
      Launch(std::string(kSmallRun) + "--validation-split=0").text.find("validation included"),
      std::string::npos);
}

TEST(BenchmarkTest, EvaluateOnlyDoesNotTrain) {
  const Outcome outcome = Launch(std::string(kSmallRun) + "--evaluate-only");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("Testing throughput: "), std::string::npos);
  EXPECT_NE(outcome.text.find("counter testing report"), std::string::npos);
  EXPECT_EQ(outcome.text.find("counter training report"), std::string::npos);
  EXPECT_EQ(outcome.text.find("**** Training"), std::string::npos);
}

// What only the run itself can find: one line after the output so far, and exit code 1.
TEST(BenchmarkTest, FailuresNameWhatIsWrong) {
  const struct {
    const char *arguments, *message;
  } cases[] = {
      {"--model=simplecnn --dataset=mnist --dataset-path=/nonexistent",
       "--dataset-path: /nonexistent: "},
      {"--model=simplecnn --dataset=synthetic --checkpoint-dir=/proc/none",
       "--checkpoint-dir: /proc/none: "},
      {"--model=simplecnn --dataset=mnist --dataset-path=/nonexistent "
       "--weights-and-bias-filename=/missing.npz",
       "--weights-and-bias-filename: /missing.npz: "},
      {"--model=vgg16_cifar10 --dataset=synthetic --synthetic-input-shape=1,8,8",
       "model vgg16_cifar10 takes samples of 32x32x3"},
      {"--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,1,1",
       "layer 3 (MaxPool2D)"},
      {"--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,65536,65536",
       "batches of shape (64, 65536, 65536, 1): no memory for 1099511627776 bytes"},
      {"--model=simplemlp --dataset=synthetic --synthetic-output-shape=1000000000",
       "training on batches of 64 samples takes "},
      {"--model=simplemlp --dataset=synthetic --synthetic-output-shape=1000000000 --force",
       "parameters of the model (513002098688): no memory for 2052008394752 bytes"},
      {"--model=simplemlp --dataset=synthetic --synthetic-input-shape=1,8,8 --learning-rate=1e38",
       "lower the learning rate, now 1e+38"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = Launch(std::string(c.arguments) + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.exit_code, 1) << c.arguments;
    EXPECT_EQ(Lines(outcome.text), 1) << outcome.text;
    EXPECT_NE(outcome.text.find(c.message), std::string::npos) << outcome.text;
  }
}

TEST(BenchmarkTest, FoldersForFilesAreThereBeforeTraining) {
  const std::string folder = ::testing::TempDir() + "benchmark_test_models";
  std::filesystem::remove_all(folder);
  const std::string run = std::string(kSmallRun) + "--num-epochs=2 --schedulers=model_checkpoint " +
                          "--model-checkpoint-save-freq=1 ";
  const Outcome made = Launch(run + "--model-dir=" + folder);
  EXPECT_EQ(made.exit_code, 0) << made.text;
  EXPECT_TRUE(std::filesystem::exists(folder));
  const Outcome below = Launch(run + "--model-dir=" + folder + "/a/b");
  EXPECT_EQ(below.exit_code, 1);
  EXPECT_NE(below.text.find("make " + folder + "/a first"), std::string::npos) << below.text;
  for (const std::string path : {"--model-dir=/dev/null/a", "--history-file=/dev/null/a/h.csv"}) {
    const Outcome outcome = Launch(run + path);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.text.find("/dev/null/a"), std::string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("Epoch 1/2"), std::string::npos) << "found out after an epoch";
  }
}

// In a build without CUDA, and on a machine without a GPU in a build with it.
TEST(BenchmarkTest, AGpuThatIsNotThereIsWrongUsage) {
  const Outcome outcome = Launch(std::string(kSmallRun) + "--model=simplemlp --enable-gpu");
  if (outcome.exit_code == 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.text.rfind("benchmark: --enable-gpu: ", 0), 0u) << outcome.text;
  EXPECT_NE(outcome.text.find("; --gpu-device=simulated needs no GPU"), std::string::npos);
}

TEST(BenchmarkTest, ASimulatedGpuTrainsAndTestsLikeTheCpu) {
  const std::string run =
      "--model=simplecnn --dataset=synthetic --synthetic-pattern=classes "
      "--synthetic-input-shape=1,12,12 --synthetic-train-samples=50 --synthetic-test-samples=20 "
      "--batch-size=16 --num-epochs=2 --evaluate --dtype=float64 --tensor-format=NCHW "
      "--progress=none "
      "--gpu-device=simulated ";
  const Outcome cpu = Launch(run + "--enable-gpu=False"), gpu = Launch(run + "--enable-gpu");
  EXPECT_EQ(cpu.exit_code, 0) << cpu.text;
  ASSERT_EQ(gpu.exit_code, 0) << gpu.text;
  EXPECT_NE(cpu.text.find("--gpu-device has no effect without --enable-gpu"), std::string::npos)
      << cpu.text;
  EXPECT_NE(gpu.text.find("**** Running on simulated:0"), std::string::npos) << gpu.text;
  const auto result = [](const std::string& text) -> std::string {
    const size_t at = text.rfind("test_cce: ");
    return at == text.npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(result(gpu.text), "") << gpu.text;
  EXPECT_EQ(result(gpu.text), result(cpu.text));
}

TEST(BenchmarkTest, ProcessesOfSrunThatCannotFindEachOtherAreRefused) {
  const auto launch = [](const std::string& rank) {
    return dtnn::testing::Launch("env SLURM_PROCID=" + rank + " SLURM_NTASKS=2 apps/benchmark",
                                 "--model=simplemlp --dataset=synthetic --num-epochs=1");
  };
  const Outcome first = launch("0"), second = launch("1");
  EXPECT_EQ(first.exit_code, 2) << first.text;
  EXPECT_TRUE(first.text.starts_with("benchmark: srun has started 2 processes without MPI"))
      << first.text;
  EXPECT_EQ(Lines(first.text), 1) << first.text;
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_EQ(second.text, "") << "the first says it for all";
}

}  // namespace

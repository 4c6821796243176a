// The launcher on several ranks, under the real mpirun.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "apps/testing/mpi_job.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using testing::Contents;
using testing::Count;
using ::testing::HasSubstr;
using testing::MpiJob;
using testing::NewFolder;
using ::testing::Not;
using testing::Numbers;
using testing::Outcome;
using testing::RankExitCode;

constexpr char kProgram[] = "apps/benchmark";

const std::vector<std::string> kSmallRun = {"--model=simplecnn",
                                            "--dataset=synthetic",
                                            "--synthetic-pattern=classes",
                                            "--synthetic-input-shape=1,8,8",
                                            "--synthetic-output-shape=3",
                                            "--synthetic-train-samples=101",
                                            "--synthetic-test-samples=23",
                                            "--validation-split=0.3",
                                            "--dtype=float64",
                                            "--learning-rate=0.05"};

std::vector<std::string> With(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Outcome RunJob(int ranks, const std::vector<std::string>& arguments) {
  return MpiJob(kProgram, arguments, {.ranks = ranks}).Wait();
}

// The whole number that stands behind `text`; 0: none does.
int NumberBehind(const std::string& text, const std::string& in) {
  const size_t at = in.find(text);
  return at == std::string::npos ? 0 : std::atoi(in.c_str() + at + text.size());
}

double FractionBehind(const std::string& text, const std::string& in) {
  const size_t at = in.find(text);
  return at == std::string::npos ? 0 : std::atof(in.c_str() + at + text.size());
}

class BenchmarkRanksTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, BenchmarkRanksTest, ::testing::Values(1, 2, 3, 4));

TEST_P(BenchmarkRanksTest, RankZeroSpeaksForAll) {
  const int ranks = GetParam();
  const Outcome outcome =
      RunJob(ranks, With(kSmallRun, {"--parallel=data", "--batch-size=4", "--num-epochs=2",
                                     "--evaluate", "--optimizer=adam"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  for (const std::string text : {"**** Loading", " parameters (", "**** Training...",
                                 "Epoch 1/2: 100%", "**** Done...", "Exposed communication: "}) {
    EXPECT_EQ(Count(outcome.text, text), 1) << text << " in\n" << outcome.text;
  }
  const std::string all = "on each of " + std::to_string(ranks) + " ranks\n";
  EXPECT_EQ(Count(outcome.text, all), ranks > 1 ? 1 : 0) << outcome.text;
}

// It has one meaning: the rate that training began with, of all ranks.
TEST(BenchmarkRanksTest, AModelSaysTheRateThatRanksBeganWith) {
  const std::string model = NewFolder("first_rate") + "/m.safetensors";
  const Outcome outcome =
      RunJob(2, With(kSmallRun, {"--parallel=data", "--learning-rate-scaling=multiply",
                                 "--learning-rate=0.25", "--save-model=" + model}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(FractionBehind("learning_rate: ", Contents(model)), 0.5);
}

// The metrics of every epoch, in full precision, of a network without dropout.
std::string History(int ranks, const std::vector<std::string>& more) {
  const std::string file = NewFolder("history") + "/h.csv";
  const Outcome outcome = RunJob(
      ranks,
      With(With(kSmallRun, {"--parallel=data", "--model=simplecnn_v1", "--num-epochs=3",
                            "--schedulers=", "--history-file=" + file, "--global-batch-size=12"}),
           more));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  return Contents(file);
}

// How ranks meet stands in the file too; rank 0 alone writes what they used, and that gives the
// same run.
TEST(BenchmarkRanksTest, OptionsComeFromAFileAndGoToOne) {
  const std::string folder = NewFolder("options");
  std::ofstream(folder + "/run.yaml")
      << "model: simplecnn_v1\ndataset: synthetic\nsynthetic: {input-shape: [1, 28, 28], "
         "train-samples: 48}\nparallel: data\nglobal-batch-size: 12\nnum-epochs: 3\n"
         "optimizer:\n  momentum: 0.5\nhistory-file: "
      << folder << "/$rank.csv\n";
  const Outcome first =
      RunJob(2, {"--options=" + folder + "/run.yaml", "--num-epochs=1",
                 "--save-options=" + folder + "/used.yaml", "--history-file=" + folder + "/a.csv"});
  ASSERT_EQ(first.exit_code, 0) << first.text;
  EXPECT_THAT(
      Contents(folder + "/used.yaml"),
      ::testing::AllOf(HasSubstr("\nnum-epochs: 1\n"), HasSubstr("\noptimizer-momentum: 0.5\n"),
                       HasSubstr("\nsynthetic-input-shape: 1,28,28\n")));
  const Outcome again =
      RunJob(2, {"--options=" + folder + "/used.yaml", "--history-file=" + folder + "/b.csv"});
  ASSERT_EQ(again.exit_code, 0) << again.text;
  EXPECT_EQ(Contents(folder + "/b.csv"), Contents(folder + "/a.csv"));
  const Outcome over =
      RunJob(2, {"--options=" + folder + "/run.yaml", "--save-options=" + folder + "/run.yaml"});
  for (const int rank : {0, 1}) EXPECT_EQ(RankExitCode(over, rank), kExitFailed) << over.text;
  EXPECT_EQ(Count(over.text, "run.yaml: is not a file of options written by "), 1) << over.text;
  const Outcome wrong = RunJob(2, {"--options=" + folder + "/a.csv"});
  for (const int rank : {0, 1}) EXPECT_EQ(RankExitCode(wrong, rank), kExitUsage) << wrong.text;
  EXPECT_EQ(Count(wrong.text, "/a.csv:1: expected lines like num-epochs: 5"), 1) << wrong.text;
}

void ExpectSameNumbers(const std::string& text, const std::string& expected,
                       double tolerance = 1e-12) {
  const std::vector<double> numbers = Numbers(text), others = Numbers(expected);
  ASSERT_EQ(numbers.size(), others.size()) << text << expected;
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_NEAR(numbers[i], others[i], tolerance * (1 + std::abs(others[i]))) << i;
  }
}

TEST(BenchmarkRanksTest, AnyNumberOfRanksLearnsTheSame) {
  for (const char* blocking : {"--use-blocking-mpi=True", "--use-blocking-mpi=False"}) {
    const std::string alone = History(1, {blocking});
    for (const int ranks : {2, 3, 4}) {
      SCOPED_TRACE(ranks);
      ExpectSameNumbers(History(ranks, {blocking}), alone);
    }
  }
}

// Each process has a GPU of its own; gradients meet in pinned memory, in buckets that are exchanged
// during the backward pass.
TEST(BenchmarkRanksTest, RanksOnGpusLearnTheSame) {
  const std::vector<std::string> gpus = {"--enable-gpu", "--gpu-device=simulated",
                                         "--tensor-format=NHWC", "--use-blocking-mpi=False",
                                         "--comm-bucket-mb=0.001"};
  const std::string alone = History(1, {});
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(ranks);
    ExpectSameNumbers(History(ranks, gpus), alone, 1e-9);
  }
}

// As earlier releases spelled them.
TEST(BenchmarkRanksTest, OptionsOfGpusAreTakenByAnyNumberOfRanks) {
  for (const int ranks : {1, 2}) {
    for (const char* const timed : {"True", "False"}) {
      SCOPED_TRACE(std::to_string(ranks) + " " + timed);
      const Outcome outcome = RunJob(
          ranks,
          With(kSmallRun, {"--parallel=data", "--enable-gpu=True", "--enable-gpudirect=False",
                           "--enable-nccl=False", "--tensor-format=NCHW", "--num-epochs=1",
                           // A warning, which another process writes, could stand in a line.
                           "--batch-size=16", std::string("--enable-cudnn-auto-conv-alg=") + timed,
                           "--gpu-device=simulated", "--evaluate=True", "--verbose"}));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
      EXPECT_EQ(Count(outcome.text, "**** Done..."), 1) << outcome.text;
      EXPECT_EQ(Count(outcome.text, "has no effect"), 0) << outcome.text;
      for (const std::string& line : {"gpus_per_node                  : " + std::to_string(ranks),
                                      std::string("enable_gpu                     : True"),
                                      std::string("enable_gpudirect               : False"),
                                      std::string("enable_nccl                    : False"),
                                      std::string("enable_cudnn_auto_conv_alg     : ") + timed}) {
        EXPECT_EQ(Count(outcome.text, line), 1) << line << " in\n" << outcome.text;
      }
    }
  }
  const Outcome direct =
      RunJob(2, With(kSmallRun, {"--parallel=data", "--enable-gpu=True", "--enable-gpudirect=True",
                                 "--gpu-device=simulated"}));
  for (const int rank : {0, 1}) EXPECT_EQ(RankExitCode(direct, rank), kExitUsage) << direct.text;
}

TEST(BenchmarkRanksTest, CollectivesOfSimulatedGpusEndAtTheProcess) {
  const std::vector<std::string> run = {"--parallel=data", "--enable-gpu", "--enable-nccl",
                                        "--gpu-device=simulated"};
  const Outcome outcome = RunJob(2, With(kSmallRun, run));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "warning: --enable-nccl: simulated GPUs of several processes"), 1)
      << outcome.text;
  EXPECT_EQ(Count(outcome.text, "**** Steps run call by call, not as CUDA graphs: ranks "), 1)
      << outcome.text;
}

TEST(BenchmarkRanksTest, TheSameDecisionsGiveTheSameBits) {
  const std::string file = NewFolder("best_of") + "/tuned.txt";
  const std::vector<std::string> tuned = {"--enable-best-of", "--best-of-file=" + file};
  const std::string timed = History(2, tuned), decisions = Contents(file);
  EXPECT_THAT(decisions, HasSubstr("\nconv2d/backward_data/"));
  EXPECT_EQ(History(2, tuned), timed);
  EXPECT_EQ(Contents(file), decisions);  // nothing was timed again
  const Outcome outcome =
      RunJob(2, With(kSmallRun, With({"--parallel=data", "--batch-size=3"}, tuned)));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "**** BestOf: conv2d forward"), 1) << outcome.text;
  std::ofstream(file) << "damaged";
  const Outcome damaged = RunJob(2, With(kSmallRun, With({"--parallel=data"}, tuned)));
  for (const int rank : {0, 1}) EXPECT_EQ(RankExitCode(damaged, rank), kExitFailed) << damaged.text;
  EXPECT_EQ(Count(damaged.text, "--best-of-file: " + file + ": line 1: "), 1) << damaged.text;
}

TEST(BenchmarkRanksTest, ACheckpointOfTwoRanksGoesOnOnAnyNumber) {
  const std::string folder = NewFolder("of_two");
  History(2, {"--checkpoint-dir=" + folder + "/2", "--checkpoint-steps=4", "--num-epochs=1"});
  // In the middle of the first epoch, which has 6 steps.
  ASSERT_TRUE(std::filesystem::remove(folder + "/2/checkpoint-6.npz"));
  ASSERT_TRUE(std::filesystem::exists(folder + "/2/checkpoint-4.npz"));
  const std::string alone = History(1, {});
  for (const int ranks : {1, 3}) {
    SCOPED_TRACE(ranks);
    const std::string copy = folder + "/" + std::to_string(ranks);
    std::filesystem::copy(folder + "/2", copy);
    ExpectSameNumbers(History(ranks, {"--checkpoint-dir=" + copy, "--resume"}), alone);
  }
}

TEST(BenchmarkRanksTest, HalvesOnTheWireGiveTheSameBitsDuringTheBackwardPassAndAfter) {
  for (const char* compression : {"--gradient-compression=fp16", "--gradient-compression=bf16"}) {
    const std::string blocking = History(3, {compression});
    EXPECT_EQ(History(3, {compression, "--use-blocking-mpi=False", "--comm-bucket-mb=0.001"}),
              blocking);
    const std::string plain = History(3, {});
    EXPECT_NE(plain, blocking);
    ExpectSameNumbers(blocking, plain, 0.05);
  }
}

TEST(BenchmarkRanksTest, ASparseSumGoesOnFromItsCheckpointBitForBit) {
  const std::vector<std::string> sparse = {"--optimizer=oktopk", "--dtype=float32",
                                           "--optimizer-density=0.1"};
  const std::string whole = History(2, sparse);
  const std::string folder = NewFolder("sparse");
  History(2, With(sparse,
                  {"--checkpoint-dir=" + folder + "/2", "--checkpoint-steps=4", "--num-epochs=1"}));
  ASSERT_TRUE(std::filesystem::remove(folder + "/2/checkpoint-6.npz"));
  for (const int ranks : {1, 3, 2}) {
    SCOPED_TRACE(ranks);
    const std::string copy = folder + "/copy" + std::to_string(ranks);
    std::filesystem::copy(folder + "/2", copy);
    const std::string resumed =
        History(ranks, With(sparse, {"--checkpoint-dir=" + copy, "--resume"}));
    if (ranks == 2) {
      EXPECT_EQ(resumed, whole);
    } else {
      ExpectSameNumbers(resumed, whole, 0.3);
    }
  }
}

TEST(BenchmarkRanksTest, SequentialTrainsInOneProcessAndSaysSo) {
  const Outcome outcome = RunJob(3, With(kSmallRun, {"--parallel=sequential"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "**** Training..."), 1) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("3 processes were started, but --parallel=sequential"));
}

TEST(BenchmarkRanksTest, WrongUsageIsToldOnce) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--model=simplecnnn"},
                                             {"--global-batch-size=7", "--batch-size=None"},
                                             {"--synthetic-output-shape=1"},
                                             {"--dataset=archive", "--dataset-path=$rank.npz"}}) {
    const Outcome outcome = RunJob(2, With(kSmallRun, With({"--parallel=data"}, wrong)));
    EXPECT_EQ(RankExitCode(outcome, 0), kExitUsage) << outcome.text;
    EXPECT_EQ(Count(outcome.text, "benchmark: "), 1) << outcome.text;
  }
}

TEST(BenchmarkRanksTest, AWrongFlagOfOneRankIsToldByThatRank) {
  for (const int odd : {0, 2}) {
    MpiJob job(kProgram, With(kSmallRun, {"--parallel=data"}),
               {.ranks = 3, .odd_rank = odd, .odd_argument = "--learning-rat=1"});
    const Outcome outcome = job.Wait();
    EXPECT_THAT(outcome.text, HasSubstr("benchmark: rank " + std::to_string(odd) + ": "));
    EXPECT_THAT(outcome.text, HasSubstr("--learning-rat"));
    EXPECT_EQ(Count(outcome.text, "benchmark: "), 1) << outcome.text;
    for (const int rank : {0, 1, 2}) EXPECT_EQ(RankExitCode(outcome, rank), kExitUsage);
  }
}

TEST(BenchmarkRanksTest, ADryRunTellsWhatEachRankNeedsAndOnlyOnce) {
  const auto dry_run = [](int ranks, const std::string& batch) {
    return RunJob(ranks, {"--dry-run", "--model=simplemlp", "--dataset=mnist", "--parallel=data",
                          batch, "--comm-bucket-mb=1", "--use-blocking-mpi=False"});
  };
  const Outcome four = dry_run(4, "--global-batch-size=64");
  EXPECT_EQ(four.exit_code, 0) << four.text;
  EXPECT_EQ(Count(four.text, "**** 4 ranks, 16 samples per rank and step, 64 in all\n"), 1)
      << four.text;
  EXPECT_THAT(four.text, HasSubstr("all-reduces during the backward pass\n"));
  const std::string memory = "**** Memory for training on batches of 16 samples";
  EXPECT_EQ(Count(four.text, memory + ", of each rank:\n"), 1) << four.text;
  const Outcome one = dry_run(1, "--batch-size=16");
  // What one rank with as many samples needs, each of the four does.
  // Without the lines that the ranks end with, which come when they come.
  const auto table = [](const Outcome& outcome) {
    const size_t begin = outcome.text.find('\n', outcome.text.find("**** Memory for"));
    return std::regex_replace(outcome.text.substr(begin), std::regex("rank \\d ended with \\d\n"),
                              "");
  };
  EXPECT_THAT(one.text, HasSubstr(memory + ":\n"));
  EXPECT_EQ(table(four), table(one));
}

TEST(BenchmarkRanksTest, ACheckpointThatCannotBeWrittenIsAFailureOnAllRanks) {
  const std::string folder = NewFolder("deleted");
  testing::WatchedFolder watched(folder);
  MpiJob job(kProgram,
             With(kSmallRun, {"--parallel=data", "--num-epochs=1000000", "--batch-size=4",
                              "--schedulers=", "--checkpoint-dir=" + folder}),
             {.ranks = 3, .recovery = true});
  watched.AwaitFile();
  // At once: while files were deleted one by one, ranks would write others.
  std::filesystem::rename(folder, NewFolder("deleted_elsewhere"));
  const Outcome outcome = job.Wait();
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(RankExitCode(outcome, rank), kExitFailed) << outcome.text;
  }
  EXPECT_THAT(outcome.text, Not(HasSubstr("--resume continues from"))) << outcome.text;
}

TEST(BenchmarkRanksTest, ARefusedResumeIsToldOnceAndChangesNothing) {
  const std::string folder = NewFolder("refused");
  const std::vector<std::string> run =
      With(kSmallRun, {"--parallel=data", "--batch-size=4", "--checkpoint-dir=" + folder});
  ASSERT_EQ(RunJob(2, With(run, {"--num-epochs=1", "--checkpoint-steps=4"})).exit_code, 0);
  ASSERT_TRUE(std::filesystem::exists(folder + "/checkpoint-8.npz"));
  std::filesystem::resize_file(folder + "/checkpoint-9.npz", 100);  // the end of the epoch
  for (const std::vector<std::string>& refused :
       std::vector<std::vector<std::string>>{{"--history-file=nowhere/h.csv"},
                                             {"--synthetic-train-samples=150"},
                                             {"--random-seed=3"}}) {
    const Outcome outcome = RunJob(2, With(run, With({"--resume", "--num-epochs=2"}, refused)));
    for (const int rank : {0, 1}) {
      EXPECT_EQ(RankExitCode(outcome, rank), kExitFailed) << outcome.text;
    }
    EXPECT_EQ(Count(outcome.text, "benchmark: rank "), 1) << outcome.text;
    EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoint-9.npz")) << refused[0];
  }
}

TEST(BenchmarkRanksTest, WarningsComeOnce) {
  const Outcome outcome = RunJob(
      3, With(kSmallRun, {"--parallel=data", "--quiet", "--batch-size=25", "--optimizer-rho=0.5"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "warning: "), 2) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("benchmark: warning: --batch-size=25: is more than a rank's "
                                      "share of the 71 samples to train on, 24: "));
  EXPECT_THAT(outcome.text, HasSubstr("--optimizer-rho has no effect with --optimizer=sgd\n"));
}

TEST(BenchmarkRanksTest, AFileThatOneRankLacksEndsAll) {
  const std::string folder = NewFolder("one_lacks");
  const Outcome outcome =
      RunJob(2, With(kSmallRun, {"--parallel=data", "--dataset=archive",
                                 "--dataset-path=" + folder + "/$rank.npz", "--noshared-storage"}));
  EXPECT_EQ(RankExitCode(outcome, 0), kExitFailed) << outcome.text;
  EXPECT_EQ(RankExitCode(outcome, 1), kExitFailed) << outcome.text;
  EXPECT_EQ(Count(outcome.text, "benchmark: rank 0: "), 1) << outcome.text;
}

// Images whose brightest row, which is so bright, tells their class, one file per rank.
void WriteArchive(const std::string& path, int64_t samples, float bright = 1) {
  const auto part = [bright](int64_t n, const std::string& name) {
    const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{n, 1, 8, 8}).value();
    const Tensor y = Tensor::Zeros(DType::kFloat32, Shape{n, 3}).value();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t column = 0; column < 8; ++column) {
        x.data<float>()[(i * 8 + i % 3) * 8 + column] = bright + float(i % 5);
      }
      y.data<float>()[3 * i + i % 3] = 1;
    }
    return NamedTensors{{"x_" + name, x}, {"y_" + name, y}};
  };
  NamedTensors all = part(samples, "train"), test = part(6, "test");
  all.insert(all.end(), test.begin(), test.end());
  ASSERT_TRUE(WriteNpz(path, all).ok());
}

TEST(BenchmarkRanksTest, EveryRankMayHaveDataAndFilesOfItsOwn) {
  const std::string folder = NewFolder("own");
  constexpr int64_t kSamples[] = {40, 25, 3};  // too few for a validation split on rank 2
  for (int rank = 0; rank < 3; ++rank) {
    WriteArchive(folder + "/" + std::to_string(rank) + ".npz", kSamples[rank]);
  }
  const std::vector<std::string> run = {"--model=simplecnn_v1",
                                        "--dataset=archive",
                                        "--dataset-path=" + folder + "/$rank.npz",
                                        "--parallel=data",
                                        "--noshared-storage",
                                        "--batch-size=4",
                                        "--num-epochs=2",
                                        "--schedulers=",
                                        "--evaluate",
                                        "--history-file=" + folder + "/h.csv"};
  for (const std::vector<std::string>& sync : std::vector<std::vector<std::string>>{
           {},
           {"--model-sync-freq=3", "--model-sync-alg=wavg", "--model-sync-participation=avail2all",
            "--model-sync-min-avail=2"},
           {"--model-sync-freq=-1", "--model-sync-alg=invwavg", "--initial-model-sync=False"}}) {
    const Outcome outcome = RunJob(3, With(run, sync));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    // MetricSet are those of all ranks' samples together.
    const std::string history = Contents(folder + "/h-rank0.csv");
    EXPECT_EQ(Contents(folder + "/h-rank1.csv"), history);
    EXPECT_EQ(Contents(folder + "/h-rank2.csv"), history);
    EXPECT_THAT(history, Not(HasSubstr("nan")));
    // So is the throughput.
    const double per_epoch = FractionBehind("Throughput: ", outcome.text) *
                             FractionBehind("Time per epoch: ", outcome.text);
    EXPECT_NEAR(per_epoch, 40 + 25 + 3, 0.1 * 68) << outcome.text;
  }
}

// The same flags and the same number of samples, but the files of another host are others.
TEST(BenchmarkRanksTest, RanksThatShareDataMustHaveTheSame) {
  const std::string folder = NewFolder("other_data");
  for (const auto& [rank, bright] : {std::pair("0", 1.0f), std::pair("1", 2.0f)}) {
    std::filesystem::create_directory(folder + "/" + rank);
    WriteArchive(folder + "/" + rank + "/data.npz", 40, bright);
  }
  const std::vector<std::string> run = {"--model=simplecnn_v1", "--dataset=archive",
                                        "--dataset-path=data.npz", "--parallel=data", "--quiet"};
  const Outcome refused = MpiJob(kProgram, run, {.ranks = 2, .folders = folder}).Wait();
  EXPECT_EQ(RankExitCode(refused, 0), kExitFailed) << refused.text;
  EXPECT_EQ(RankExitCode(refused, 1), kExitFailed) << refused.text;
  EXPECT_THAT(
      refused.text,
      HasSubstr("benchmark: rank 1: has other data than rank 0: the checksum of the samples is "));
  WriteArchive(folder + "/1/data.npz", 40);
  const Outcome same = MpiJob(kProgram, run, {.ranks = 2, .folders = folder}).Wait();
  EXPECT_EQ(same.exit_code, 0) << same.text;
}

// Labels as whole numbers, which on rank 0 end before those of rank 1.
TEST(BenchmarkRanksTest, RanksWithLabelsOfTheirOwnAgreeOnTheNumberOfClasses) {
  const std::string folder = NewFolder("own_labels");
  for (const int rank : {0, 1}) {
    const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{20, 1, 8, 8}).value();
    const Tensor y = Tensor::Zeros(DType::kInt32, Shape{20}).value();
    for (int32_t i = 0; i < 20; ++i) y.data<int32_t>()[i] = i % (2 + 2 * rank);
    ASSERT_TRUE(
        WriteNpz(folder + "/" + std::to_string(rank) + ".npz", {{"x_train", x}, {"y_train", y}})
            .ok());
  }
  const Outcome outcome =
      RunJob(2, {"--model=simplecnn_v1", "--dataset=archive", "--parallel=data",
                 "--dataset-path=" + folder + "/$rank.npz", "--noshared-storage"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Done"));
}

TEST(BenchmarkRanksTest, RanksGoOnFromTheNewestCheckpointThatAllHave) {
  const std::string folder = NewFolder("steps");
  const std::vector<std::string> run =
      With(kSmallRun, {"--parallel=data", "--noshared-storage", "--batch-size=4",
                       "--schedulers=", "--checkpoint-dir=" + folder + "/c"});
  EXPECT_EQ(RunJob(2, With(run, {"--num-epochs=1"})).exit_code, 0);
  std::filesystem::copy(folder + "/c-rank1", folder + "/kept");
  EXPECT_EQ(RunJob(2, With(run, {"--num-epochs=2", "--resume"})).exit_code, 0);
  std::filesystem::remove_all(folder + "/c-rank1");
  std::filesystem::rename(folder + "/kept", folder + "/c-rank1");
  const Outcome resumed = RunJob(2, With(run, {"--num-epochs=3", "--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("/c-rank0/checkpoint-18.npz, 18 steps done"));
  EXPECT_THAT(resumed.text, HasSubstr("Epoch 2/3"));
  std::filesystem::remove_all(folder + "/c-rank1");
  std::filesystem::create_directory(folder + "/c-rank1");
  const Outcome refused = RunJob(2, With(run, {"--num-epochs=4", "--resume"}));
  EXPECT_EQ(RankExitCode(refused, 0), kExitFailed) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("rank 1 has no checkpoint, but other ranks have"));
}

// `run`: of two ranks with folders `name`-rank0 and -rank1, and so many steps an epoch.
void ExpectEachRankToWarnOfItsCheckpoints(const std::vector<std::string>& run,
                                          const std::string& name, int steps) {
  ASSERT_EQ(RunJob(2, With(run, {"--num-epochs=2"})).exit_code, 0);
  const std::string newest = "/checkpoint-" + std::to_string(2 * steps) + ".npz",
                    others = name + "-rank0" + newest, damaged = name + "-rank1" + newest;
  ASSERT_TRUE(std::filesystem::exists(others));
  std::filesystem::resize_file(damaged, 100);
  const Outcome resumed = RunJob(2, With(run, {"--num-epochs=2", "--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr(".npz, " + std::to_string(steps) + " steps done"));
  EXPECT_EQ(Count(resumed.text, "warning: "), 3) << resumed.text;
  EXPECT_EQ(Count(resumed.text, "; trying the previous checkpoint\n"), 1) << resumed.text;
  const std::string warning = "benchmark: warning: rank ",
                    given_up =
                        ": is newer than the checkpoint that the run resumes from; renamed to ";
  EXPECT_EQ(Count(resumed.text, warning + "0: " + others + given_up), 1) << resumed.text;
  EXPECT_EQ(Count(resumed.text, warning + "1: " + damaged + given_up), 1) << resumed.text;
  EXPECT_EQ(Count(resumed.text, warning + "1: " + damaged), 2) << resumed.text;
}

TEST(BenchmarkRanksTest, EachRankWarnsOfCheckpointsOfItsOwn) {
  const std::vector<std::string> run =
      With(kSmallRun, {"--parallel=data", "--batch-size=4", "--schedulers="});
  for (const auto& [own, steps] :
       {std::pair("--noshared-storage", 18), std::pair("--model-sync-freq=3", 9)}) {
    SCOPED_TRACE(own);
    const std::string folder = NewFolder("own_checkpoints") + "/c";
    ExpectEachRankToWarnOfItsCheckpoints(With(run, {own, "--checkpoint-dir=" + folder}), folder,
                                         steps);
  }
}

TEST(BenchmarkRanksTest, ASignalToMpirunSavesTheRun) {
  const std::string folder = NewFolder("signal");
  const std::vector<std::string> run =
      With(kSmallRun, {"--parallel=data", "--batch-size=4", "--learning-rate=0.001",
                       "--schedulers=", "--checkpoint-dir=" + folder, "--checkpoint-freq=10000"});
  MpiJob job(kProgram, With(run, {"--num-epochs=10000"}), {.ranks = 3});
  ASSERT_TRUE(job.ReadUntil(" 3/10000"));
  job.Signal(SIGTERM);
  const Outcome stopped = job.Wait();
  EXPECT_THAT(stopped.text, HasSubstr("stopped by SIGTERM")) << stopped.text;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(RankExitCode(stopped, rank), ExitCodeOfSignal(SIGTERM)) << stopped.text;
  }
  constexpr int kSteps = 6;  // per epoch: 71 samples, 12 a step
  const std::string epochs =
      std::to_string(NumberBehind("SIGTERM after ", stopped.text) / kSteps + 2);
  const Outcome resumed = RunJob(3, With(run, {"--resume", "--num-epochs=" + epochs}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from")) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr(epochs + "/" + epochs + ": 100%")) << resumed.text;
}

TEST(BenchmarkRanksTest, ASignalToOneRankStopsAllAfterTheSameStep) {
  const std::string folder = NewFolder("one_signal");
  MpiJob job(kProgram,
             With(kSmallRun, {"--parallel=data", "--num-epochs=10000", "--batch-size=4",
                              "--schedulers=", "--checkpoint-dir=" + folder}),
             {.ranks = 2, .recovery = true});
  ASSERT_TRUE(job.ReadUntil(" 2/10000"));
  ASSERT_TRUE(job.SignalRank(1, SIGINT));
  const Outcome stopped = job.Wait();
  EXPECT_EQ(RankExitCode(stopped, 0), ExitCodeOfSignal(SIGINT)) << stopped.text;
  EXPECT_EQ(RankExitCode(stopped, 1), ExitCodeOfSignal(SIGINT)) << stopped.text;
  EXPECT_EQ(Count(stopped.text, "stopped by SIGINT"), 1) << stopped.text;
}

}  // namespace
}  // namespace dtnn

#include "models/run/observe/run_trace.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/trace/trace_form.h"
#include "models/testing/training_session.h"
#include "nlohmann/json.hpp"
#include "tensor/files/atomic_file.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One rank that trains for an epoch: what it printed and warned of.
struct Traced {
  std::ostringstream out, err;

  absl::Status Run(const RunOptions& options, Communicator* communicator, bool together) {
    const int rank = communicator == nullptr ? 0 : communicator->rank();
    const int ranks = communicator == nullptr ? 1 : communicator->size();
    RunTrace trace(options, communicator);
    SessionOptions setup;
    setup.training.communicator = communicator;
    setup.loading.rank = rank;
    setup.loading.ranks = ranks;
    const Graph graph = PatternMlp();
    TrainingSession session(graph, setup);
    DTNN_RETURN_IF_ERROR(trace.Begin(graph, *session.store));
    {
      const ScopedObserver watching = trace.Watch();
      DTNN_RETURN_IF_ERROR(session.Train(1));
    }
    EXPECT_EQ(CurrentObserver(), nullptr);
    trace.Finish(
        graph, *session.store, session.trainer->engine(), {.together = together},
        {.print = [this](std::string_view text) { out << text; },
         .tell = [this](std::string_view text) { out << text; },
         .warn = [this](std::string_view line) { err << line << "\n"; },
         .warn_of_rank = [&](std::string_view line) { err << rank << ": " << line << "\n"; }});
    EXPECT_EQ(CurrentObserver(), nullptr);
    return absl::OkStatus();
  }
};

// How often each rank did what, by process.
std::map<int, std::map<std::string, int>> Slices(const std::string& path) {
  std::map<int, std::map<std::string, int>> slices;
  const nlohmann::json trace = nlohmann::json::parse(Read(path));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") ++slices[event.at("pid")][event.at("name")];
  }
  return slices;
}

TEST(RunTraceTest, AllRanksAreInOneFile) {
  RunOptions options;
  options.output.trace = Path("all.json");
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Traced run;
    DTNN_RETURN_IF_ERROR(run.Run(options, &communicator, /*together=*/true));
    EXPECT_EQ(run.err.str(), "");
    if (communicator.rank() == 0) {
      EXPECT_THAT(run.out.str(), StartsWith("**** Wrote "));
      EXPECT_THAT(run.out.str(), HasSubstr(" events to " + options.output.trace + "; open it in"));
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  const auto slices = Slices(options.output.trace);
  ASSERT_EQ(slices.size(), 2u);
  for (const auto& [pid, names] : slices) {
    EXPECT_EQ(names.at("training"), 1) << pid;
    EXPECT_EQ(names.at("step"), names.at("2_FC forward")) << pid;
    EXPECT_EQ(names.at("exchange"), names.at("wait for gradients")) << pid;
  }
  EXPECT_EQ(slices.at(1).at("step"), slices.at(2).at("step"));
}

TEST(RunTraceTest, ParaversFilesNameAllRanks) {
  RunOptions options;
  options.output.trace = Path("all.prv");
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Traced run;
    return run.Run(options, &communicator, /*together=*/true);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(Read(Path("all.prv")), StartsWith("#Paraver ("));
  EXPECT_THAT(Read(Path("all.prv")), HasSubstr("\n3:")) << "messages between the ranks";
  EXPECT_THAT(Read(Path("all.pcf")), HasSubstr("_FC_forward\n"));
  EXPECT_THAT(Read(Path("all.row")), HasSubstr("\nrank 1\n"));
}

// One of them is gone: nobody waits for anybody.
TEST(RunTraceTest, RanksThatAreApartWriteFilesOfTheirOwn) {
  RunOptions options;
  options.output.trace = Path("apart.json");
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Traced run;
    return run.Run(options, &communicator, /*together=*/false);
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(std::filesystem::exists(options.output.trace));
  for (const int rank : {0, 1}) {
    const auto slices = Slices(Path("apart.rank" + std::to_string(rank) + ".json"));
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(slices.begin()->first, rank + 1);
  }
}

// Under a name that the rank itself has made: what stands there stays.
TEST(RunTraceTest, FilesOfOthersUnderTheNameOfARankStay) {
  RunOptions options;
  options.output.trace = Path("taken.json");
  std::ofstream(Path("taken.rank1.json")) << "a text";
  std::array<std::string, 2> warnings;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Traced run;
    DTNN_RETURN_IF_ERROR(run.Run(options, &communicator, /*together=*/false));
    warnings[size_t(communicator.rank())] = run.err.str();
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(warnings[0], "");
  EXPECT_THAT(warnings[1], StartsWith("1: the trace is not written: " + Path("taken.rank1.json")));
  EXPECT_EQ(Read(Path("taken.rank1.json")), "a text");
  EXPECT_EQ(Slices(Path("taken.rank0.json")).size(), 1u);
}

int FailWrites(std::string_view step) { return step == "write" ? ENOSPC : 0; }

TEST(RunTraceTest, AFullDiskIsOneWarningAndNoFile) {
  for (const char* name : {"full.json", "full.csv"}) {
    RunOptions options;
    options.output.trace = Path(name);
    Traced run;
    internal::SetFileFaultHookForTesting(FailWrites);
    const absl::Status status = run.Run(options, nullptr, /*together=*/true);
    internal::SetFileFaultHookForTesting(nullptr);
    EXPECT_TRUE(status.ok()) << status;
    const std::string who = TraceFormOf(name) == TraceForm::kSimple ? "0: " : "";
    EXPECT_THAT(run.err.str(), StartsWith(who + "the trace is not written: " + Path(name)));
    EXPECT_EQ(std::ranges::count(run.err.str(), '\n'), 1);
    EXPECT_FALSE(std::filesystem::exists(Path(name)));
  }
}

TEST(RunTraceTest, EachRankWarnsOfATableOfItsOwn) {
  RunOptions options;
  options.output.trace = Path("full.{rank}.csv");
  std::array<Traced, 2> runs;
  internal::SetFileFaultHookForTesting(FailWrites);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    return runs[size_t(communicator.rank())].Run(options, &communicator, /*together=*/true);
  });
  internal::SetFileFaultHookForTesting(nullptr);
  EXPECT_TRUE(status.ok()) << status;
  for (const int rank : {0, 1}) {
    const std::string number = std::to_string(rank);
    EXPECT_THAT(runs[size_t(rank)].err.str(),
                StartsWith(number + ": the trace is not written: " + Path("full." + number)));
  }
}

TEST(RunTraceTest, OtherEndingsAreTheSimpleTracers) {
  RunOptions options;
  options.output.trace = Path("sums.csv");
  Traced run;
  ASSERT_TRUE(run.Run(options, nullptr, /*together=*/true).ok());
  EXPECT_EQ(run.out.str(), "Writing simple tracer output to '" + Path("sums.csv") + "'...\n");
  const std::string text = Read(Path("sums.csv"));
  EXPECT_THAT(text, StartsWith("Event type;Event value;Event name;Calls;Total time;Median of "
                               "times\nModel;11;2_FC_forward;"));
  EXPECT_THAT(text, HasSubstr("\nOperations;106;002_FC_forward_matmul;"));
}

TEST(RunTraceTest, EachRankHasATableWhereAsked) {
  for (const bool all : {false, true}) {
    RunOptions options;
    options.output.trace = Path(all ? "each.{rank}.csv" : "first.csv");
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
      Traced run;
      DTNN_RETURN_IF_ERROR(run.Run(options, &communicator, /*together=*/true));
      EXPECT_EQ(run.out.str().empty(), !all && communicator.rank() > 0) << run.out.str();
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
    for (const std::string name : {"each.0.csv", "each.1.csv", "first.csv"}) {
      const bool expected = name.starts_with("each") == all;
      if (!expected) continue;
      EXPECT_THAT(Read(Path(name)), HasSubstr("\nModel;11;2_FC_forward;")) << name;
      EXPECT_THAT(Read(Path(name)), HasSubstr("\nModel;14;2_FC_wait_dw;")) << name;
    }
    EXPECT_EQ(std::filesystem::exists(options.output.trace), !all);
  }
}

TEST(RunTraceTest, ProfilesArePrintedOrWritten) {
  RunOptions options;
  options.output.profile.print = true;
  Traced printed;
  ASSERT_TRUE(printed.Run(options, nullptr, /*together=*/true).ok());
  EXPECT_THAT(printed.out.str(), StartsWith("**** Profile of 6 steps, "));
  EXPECT_THAT(printed.out.str(), HasSubstr("\n  predicted: "));
  EXPECT_THAT(printed.out.str(), HasSubstr("\n  2_FC "));
  options.output.profile.file = Path("profile.json");
  options.output.trace = Path("besides.json");
  Traced written;
  ASSERT_TRUE(written.Run(options, nullptr, /*together=*/true).ok());
  EXPECT_THAT(written.out.str(),
              HasSubstr("**** Wrote the profile to " + options.output.profile.file + "\n"));
  const nlohmann::json profile = nlohmann::json::parse(Read(options.output.profile.file));
  EXPECT_EQ(profile["steps"], 6);
  EXPECT_GT(profile["peak_flops_per_second"], 0);
  EXPECT_EQ(Slices(options.output.trace).at(1).at("step"), 6) << "both got the event";
}

TEST(RunTraceTest, NothingIsWatchedUnlessAsked) {
  const RunOptions options;
  RunTrace trace(options, nullptr);
  const Graph graph = PatternMlp();
  const TrainingSession session(graph);
  ASSERT_TRUE(trace.Begin(graph, *session.store).ok());
  const ScopedObserver watching = trace.Watch();
  EXPECT_EQ(CurrentObserver(), nullptr);
}

// The seconds per step that are predicted for two ranks.
double PredictedSeconds(const std::string& network_alg, int64_t model_sync_freq) {
  RunOptions options;
  options.output.profile.file = Path("predicted.json");
  options.prediction.cpu_speed = 1e9;
  options.prediction.memory_bandwidth = 1e9;
  options.prediction.network_bandwidth = 1e6;
  options.prediction.network_latency = 0.25;
  options.prediction.network_algorithm = network_alg;
  options.sync.model_steps = model_sync_freq;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    Traced run;
    return run.Run(options, &communicator, /*together=*/true);
  });
  EXPECT_TRUE(status.ok()) << status;
  const nlohmann::json profile = nlohmann::json::parse(Read(options.output.profile.file));
  return double(profile["predicted_seconds"]) / double(profile["steps"]);
}

TEST(RunTraceTest, TheExchangeIsPredictedByTheNetworkThatOptionsDescribe) {
  double bytes = 0;
  const Graph graph = PatternMlp();
  for (const Node& node : graph.nodes()) {
    for (const ParameterSpec& parameter : node.parameters) {
      bytes += 4 * double(parameter.shape.NumElements());
    }
  }
  const double alone = PredictedSeconds("vdg", /*model_sync_freq=*/1);
  // Both halves of a message there and back, or all of it; each half, or all, is added once.
  EXPECT_NEAR(PredictedSeconds("vdg", 0) - alone, 2 * 0.25 + bytes * (1e-6 + 1.5e-9), 1e-6);
  EXPECT_NEAR(PredictedSeconds("bta", 0) - alone, 2 * 0.25 + bytes * (2e-6 + 3e-9), 1e-6);
}

TEST(RunTraceTest, FilesThatCannotBeWrittenShowBeforeTheRun) {
  RunOptions options;
  EXPECT_TRUE(CheckTraceFiles(options, 0).ok());
  options.output.trace = Path("fine.json");
  options.output.profile.file = Path("fine.csv");
  EXPECT_TRUE(CheckTraceFiles(options, 0).ok());
  EXPECT_FALSE(std::filesystem::exists(options.output.trace));
  options.output.profile.file = ::testing::TempDir();
  EXPECT_THAT(std::string(CheckTraceFiles(options, 0).message()),
              StartsWith("RunOptions::output.profile: "));
  EXPECT_TRUE(CheckTraceFiles(options, 1).ok()) << "rank 0 writes it";
  options.output.trace = "/no/such/folder/x.json";
  EXPECT_THAT(std::string(CheckTraceFiles(options, 0).message()),
              StartsWith("RunOptions::output.trace: /no/such/folder/x.json: "));
  EXPECT_TRUE(CheckTraceFiles(options, 1).ok()) << "rank 0 writes it";
}

TEST(RunTraceTest, AFolderForEachRankIsCheckedByEachRank) {
  RunOptions options;
  options.output.trace = Path("run.{rank}/sums.csv");
  std::filesystem::create_directory(Path("run.0"));
  EXPECT_TRUE(CheckTraceFiles(options, 0).ok());
  EXPECT_THAT(std::string(CheckTraceFiles(options, 1).message()),
              StartsWith("RunOptions::output.trace: " + Path("run.1/sums.csv")));
}

}  // namespace
}  // namespace dtnn

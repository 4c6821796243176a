// Profiles and traces as a user of the launcher asks for them.

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/testing/mpi_job.h"
#include "apps/testing/process.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"
#include "nlohmann/json.hpp"
#include "tensor/must.h"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

dtnn::testing::Outcome Train(const std::string& arguments) {
  return dtnn::testing::Launch(
      "apps/benchmark",
      "--model=simplecnn --dataset=synthetic --synthetic-input-shape=1,8,8 "
      "--synthetic-output-shape=3 --synthetic-train-samples=50 --synthetic-test-samples=20 "
      "--batch-size=16 " +
          arguments);
}

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(BenchmarkTraceTest, ATraceShowsTestsAndEpochs) {
  const auto run = Train("--evaluate --num-epochs=2 --tracer-output=" + Path("run.json"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr(" events to " + Path("run.json") + "; open it in ui.perfetto."));
  int tests = 0, epochs = 0, validations = 0, steps = 0;
  const nlohmann::json trace = nlohmann::json::parse(Read(Path("run.json")));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    tests += event["name"] == "test";
    epochs += event["name"] == "training";
    validations += event["name"] == "validation";
    steps += event["name"] == "step";
  }
  EXPECT_EQ(tests, 2) << "before and after training";
  EXPECT_EQ(epochs, 2);
  EXPECT_EQ(validations, 2);
  EXPECT_EQ(steps, 2 * 3);
}

TEST(BenchmarkTraceTest, AProfileIsPrintedAfterTheRun) {
  const auto run = Train("--quiet --profile");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  const size_t done = run.text.find("**** Done"),
               profile = run.text.find("**** Profile of 3 steps");
  ASSERT_NE(profile, std::string::npos) << run.text;
  EXPECT_LT(done, profile);
  EXPECT_THAT(run.text, HasSubstr("\n  1_Conv2D "));
  EXPECT_THAT(run.text, HasSubstr("\n  backward "));
  EXPECT_THAT(Train("--noprofile").text, Not(HasSubstr("Profile of")));
  const auto tested = Train("--evaluate-only --profile").text;
  EXPECT_THAT(tested, HasSubstr("--profile has no effect with --evaluate-only"));
  EXPECT_THAT(tested, Not(HasSubstr("Profile of"))) << "nothing is trained";
  EXPECT_THAT(Train("--profile --cpu-speed=5e9 --memory-bw=3e9").text,
              HasSubstr(" ms per step (5.0 GFLOP/s, copies 3.0 GB/s)\n"));
  EXPECT_THAT(Train("--cpu-speed=5e9").text,
              HasSubstr("--cpu-speed has no effect with --profile=False"));
}

TEST(BenchmarkTraceTest, TheOriginalsCommandWritesItsFile) {
  const auto run = Train("--tracing=True --tracer-output=" + Path("simple.trc"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text,
              HasSubstr("Writing simple tracer output to '" + Path("simple.trc") + "'..."));
  EXPECT_THAT(Read(Path("simple.trc")), HasSubstr("\nModel;6;1_Conv2D_forward;"));
}

TEST(BenchmarkTraceTest, APageIsWrittenThatSaysHowToRepeatTheRun) {
  const auto run =
      Train("--num-epochs=2 --optimizer-decay=0.001 --evaluate --report=" + Path("run.html"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_THAT(run.text, Not(HasSubstr("warning")));
  EXPECT_THAT(run.text, HasSubstr("**** " + Path("run.html") + " is updated after every epoch\n"));
  const auto page = dtnn::testing::CheckPage(Read(Path("run.html")));
  EXPECT_THAT(page.problems, ::testing::IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("Training of simplecnn on synthetic"));
  EXPECT_THAT(page.root.text, HasSubstr("40 samples of 8x8x1 to train on, 10 to validate"));
  EXPECT_THAT(page.root.text, HasSubstr("Training has ended: 2 of 2 epochs done."));
  const std::string command = page.root.All("code").at(0)->text;
  EXPECT_THAT(command, StartsWith("benchmark \\\n  --model=simplecnn \\\n"));
  EXPECT_THAT(command, HasSubstr("--optimizer-decay=0.001"));
  EXPECT_THAT(page.root.text, HasSubstr("On the test data, after training"));
  EXPECT_EQ(page.root.All("section").size(), 6u) << "nothing was wrong: there is one class";
}

TEST(BenchmarkTraceTest, ThePageOfSeveralRanksCountsTheValidationOfAll) {
  const auto run =
      dtnn::testing::MpiJob("apps/benchmark",
                            {"--model=simplecnn", "--dataset=synthetic",
                             "--synthetic-input-shape=1,8,8", "--synthetic-output-shape=3",
                             "--synthetic-train-samples=50", "--synthetic-test-samples=20",
                             "--batch-size=4", "--parallel=data", "--report=" + Path("ranks.html")},
                            {.ranks = 2})
          .Wait();
  EXPECT_EQ(run.exit_code, 0) << run.text;
  const auto page = dtnn::testing::CheckPage(Read(Path("ranks.html")));
  EXPECT_THAT(page.problems, ::testing::IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr(" of 10 samples were classified correctly"));
  EXPECT_THAT(page.root.text, HasSubstr("Times of the rank that writes this page, one of 2;"));
}

TEST(BenchmarkTraceTest, ThePageOfAResumedRunHasAllEpochsOfItsHistory) {
  const std::string folder = Path("page_state");
  std::filesystem::remove_all(folder);
  const std::string arguments = "--checkpoint-dir=" + folder + " --history-file=" + folder +
                                ".csv --report=" + folder + ".html";
  ASSERT_EQ(Train(arguments + " --num-epochs=2").exit_code, 0);
  const auto resumed = Train(arguments + " --resume --num-epochs=3");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  const auto page = dtnn::testing::CheckPage(Read(folder + ".html"));
  EXPECT_THAT(page.problems, ::testing::IsEmpty());
  for (const auto* table : page.root.All("table")) {
    if (table->All("th")[0]->text != "epoch") continue;
    EXPECT_EQ(table->All("tr").size(), 4u) << "and the names";
  }
  EXPECT_THAT(page.root.text, HasSubstr("Training has ended: 3 of 3 epochs done."));
}

TEST(BenchmarkTraceTest, EnergyIsToldOrItIsSaidWhyNot) {
  const auto run = Train("--energy --quiet");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  const bool told = run.text.find("\n**** Energy: ") != std::string::npos;
  const bool missing =
      run.text.find("benchmark: warning: --energy: this machine tells no energy: ") !=
      std::string::npos;
  EXPECT_NE(told, missing) << run.text;
  // Nobody listens there.
  const auto alone = Train("--energy --quiet --tracer-pmlib-device=meter --tracer-pmlib-port=1");
  EXPECT_EQ(alone.exit_code, 0) << alone.text;
  EXPECT_THAT(alone.text, HasSubstr("benchmark: warning: --energy: PMlib server 127.0.0.1:1: "));
  EXPECT_THAT(alone.text, HasSubstr("**** Done"));
  EXPECT_THAT(Train("--tracer-pmlib-device=meter").text,
              HasSubstr("--tracer-pmlib-device has no effect"));
}

// A server of a power meter that agrees to start, and then sends these bytes, or nothing more.
class BrokenMeter {
 public:
  explicit BrokenMeter(const std::string& then)
      : then_(then), listener_(dtnn::Must(dtnn::Listen({.host = "127.0.0.1"}))) {
    thread_ = std::thread([this] { Run(); });
  }
  ~BrokenMeter() {
    ended_ = true;
    thread_.join();
  }
  int port() const { return dtnn::Must(listener_.Local()).port; }

 private:
  void Run() {
    std::vector<dtnn::Socket> open;
    while (!ended_) {
      pollfd waited = {.fd = listener_.descriptor(), .events = POLLIN, .revents = 0};
      if (poll(&waited, 1, /*milliseconds=*/20) <= 0) continue;
      std::optional<dtnn::Socket> connection = dtnn::Must(dtnn::Accept(listener_));
      if (!connection) continue;
      const std::string bytes = std::string(8, '\0') + then_;  // created, started
      EXPECT_EQ(send(connection->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
                ssize_t(bytes.size()));
      shutdown(connection->descriptor(), SHUT_WR);
      open.push_back(*std::move(connection));
    }
  }

  const std::string then_;
  const dtnn::Socket listener_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

TEST(BenchmarkTraceTest, AMeterThatFailsInTheMiddleIsOneWarning) {
  for (const auto& [then, what] :
       {std::pair("", "has closed the connection"),
        std::pair("nonsense, and more of it than anybody has asked for", "makes no sense")}) {
    const BrokenMeter meter(then);
    const auto run = Train("--energy --quiet --num-epochs=3 --tracer-pmlib-device=meter " +
                           std::string("--tracer-pmlib-port=") + std::to_string(meter.port()));
    EXPECT_EQ(run.exit_code, 0) << run.text;
    EXPECT_THAT(run.text, HasSubstr("**** Done"));
    const std::string warning =
        "benchmark: warning: energy is not measured any more: PMlib server ";
    const size_t at = run.text.find(warning);
    ASSERT_NE(at, std::string::npos) << run.text;
    EXPECT_EQ(run.text.find("warning", at + warning.size()), std::string::npos) << run.text;
    EXPECT_THAT(run.text, HasSubstr(what));
  }
}

TEST(BenchmarkTraceTest, FilesForTensorBoardAreWritten) {
  const std::string folder = Path("board"), state = Path("board_state");
  std::filesystem::remove_all(folder);
  std::filesystem::remove_all(state);
  const std::string arguments = "--tensorboard-dir=" + folder + " --checkpoint-dir=" + state;
  const auto files = [&](const char* run) {
    int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + run)) {
      EXPECT_THAT(entry.path().filename().string(), StartsWith("events.out.tfevents."));
      EXPECT_GT(entry.file_size(), 100u);
      ++count;
    }
    return count;
  };
  const auto first = Train(arguments);
  EXPECT_EQ(first.exit_code, 0) << first.text;
  EXPECT_EQ(files("train"), 1);
  EXPECT_EQ(files("validation"), 1);
  const auto resumed = Train(arguments + " --resume --num-epochs=2");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_EQ(files("train"), 2) << "a file of its own";
}

// As on a full disk: files take two thousand bytes. TensorBoard's need more from the start.
TEST(BenchmarkTraceTest, AFullDiskIsAWarningPerFileAndTrainingGoesOn) {
  const std::string folder = Path("full_disk");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const auto run = dtnn::testing::Launch(
      "sh",
      "-c \"trap '' XFSZ; ulimit -f 4; exec apps/benchmark --model=simplecnn "
      "--dataset=synthetic --synthetic-input-shape=1,8,8 --synthetic-output-shape=3 "
      "--synthetic-train-samples=50 --synthetic-test-samples=20 --batch-size=16 "
      "--num-epochs=60 --schedulers= --quiet --tracer-output=" +
          folder + "/trace.json --profile=" + folder + "/profile.json --report=" + folder +
          "/run.html --history-file=" + folder + "/history.csv\"");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  for (const char* what : {"the trace is not written", "the profile is not written",
                           "the report is not written", "the history is not written"}) {
    const std::string warning = std::string("benchmark: warning: ") + what;
    const size_t at = run.text.find(warning);
    EXPECT_NE(at, std::string::npos) << what << " in:\n" << run.text;
    EXPECT_EQ(run.text.find(warning, at + 1), std::string::npos) << "twice: " << what;
  }
  EXPECT_THAT(run.text, HasSubstr("**** Done"));
  // The history with the epochs that fitted, and no other file, whole or partial.
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.insert(entry.path().filename());
  }
  EXPECT_THAT(files, ::testing::ElementsAre("history.csv"));
  const std::string history = Read(folder + "/history.csv");
  ASSERT_FALSE(history.empty());
  EXPECT_EQ(history.back(), '\n');
  EXPECT_LE(history.size(), 2048u);
  EXPECT_THAT(history, HasSubstr("\n9,")) << "epochs before the disk was full";
}

TEST(BenchmarkTraceTest, WhatCannotBeWrittenIsAnErrorBeforeTheRun) {
  for (const std::string& arguments :
       {"--tracer-output=" + ::testing::TempDir(), std::string("--tracer-output=/no/such/x.json"),
        std::string("--profile=/no/such/x.csv"), std::string("--report=/no/such/x.html"),
        std::string("--tensorboard-dir=/proc/no/such")}) {
    const auto run = Train(arguments);
    EXPECT_EQ(run.exit_code, 1) << run.text;
    EXPECT_THAT(run.text, HasSubstr("benchmark: " + arguments.substr(0, 8)));
    EXPECT_THAT(run.text, Not(HasSubstr("**** Loading")));
  }
  const auto ending = Train("--tracer-output=x.jsn");
  EXPECT_EQ(ending.exit_code, 2);
  EXPECT_THAT(ending.text, StartsWith("benchmark: --tracer-output=x.jsn: unknown ending; must be "
                                      ".json for ui.perfetto.dev"));
  EXPECT_THAT(ending.text, HasSubstr(".prv for Paraver, or .csv, .txt, .trc or none"));
  EXPECT_THAT(Train("--report=x.pdf").text,
              StartsWith("benchmark: --report=x.pdf: unknown ending; must be .html or .htm"));
  EXPECT_EQ(Train("--tracing").exit_code, 2);
  EXPECT_EQ(Train("--tracing=False --tracer-output=x.json").exit_code, 2);
  const auto all = Train("--tracer-output=x{rank}.json");
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_THAT(all.text, StartsWith("benchmark: --tracer-output=x{rank}.json: such a file has all "
                                   "ranks; leave out {rank}"));
  EXPECT_THAT(Train("--profile=ture").text,
              StartsWith("benchmark: --profile=ture: must be True, False or a file"));
}

}  // namespace

// What a run of the launcher leaves behind, and how another continues from it: checkpoints,
// weights, histories. And that the options of a run reach it.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/machine/available_memory.h"
#include "tensor/must.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using ::testing::ContainsRegex;
using testing::Contents;
using ::testing::HasSubstr;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::Process;

constexpr char kProgram[] = "apps/benchmark";

Outcome Launch(const std::string& arguments) { return testing::Launch(kProgram, arguments); }

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The files of a folder by name, with what they hold.
std::map<std::string, std::string> Files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = Contents(entry.path().string());
  }
  return files;
}

// A run with everything that a checkpoint must bring back: momentum, dropout, augmentation, a rate
// that follows the steps, and parameters that a scheduler keeps. Two epochs of 400 steps.
class StoppedRunTest : public ::testing::Test {
 protected:
  std::vector<std::string> Arguments(const std::string& folder) const {
    return {"--model=simplecnn",
            "--dataset=synthetic",
            "--synthetic-pattern=classes",
            "--synthetic-input-shape=1,28,28",
            "--synthetic-train-samples=8000",
            "--batch-size=16",
            "--num-epochs=2",
            "--augment=pad_crop:2,flip,cutout:5,rotate",
            "--mixup=0.3",
            "--standardize",
            "--schedulers=warm_up,early_stopping,reduce_lr_on_plateau,model_checkpoint",
            "--warm-up-batches=500",
            "--model-dir=" + folder + "/models",
            "--history-file=" + folder + "/history.jsonl",
            "--checkpoint-dir=" + folder + "/checkpoints"};
  }
  std::string Folder(const std::string& name) const {
    const std::string folder = NewFolder(name);
    std::filesystem::create_directory(folder + "/models");
    std::filesystem::create_directory(folder + "/checkpoints");
    return folder;
  }
  static Outcome Run(const std::vector<std::string>& arguments) {
    return Process(kProgram, arguments).Wait();
  }

  // The run that continued left what an uninterrupted one leaves, bit for bit.
  void ExpectSameAsUninterrupted(const std::string& folder) const {
    const std::string whole = Folder(std::string(test_info_->name()) + "_whole");
    const Outcome outcome = Run(Arguments(whole));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_TRUE(Contents(whole + "/history.jsonl") == Contents(folder + "/history.jsonl"));
    EXPECT_EQ(Lines(Contents(folder + "/history.jsonl")).size(), 2u);
    EXPECT_TRUE(Files(whole + "/models") == Files(folder + "/models"));
    const auto checkpoints = Files(folder + "/checkpoints");
    const auto expected = Files(whole + "/checkpoints");
    ASSERT_FALSE(expected.empty());
    ASSERT_TRUE(checkpoints.contains(expected.rbegin()->first)) << checkpoints.rbegin()->first;
    EXPECT_TRUE(checkpoints.at(expected.rbegin()->first) == expected.rbegin()->second);
  }

  const ::testing::TestInfo* const test_info_ =
      ::testing::UnitTest::GetInstance()->current_test_info();
};

TEST_F(StoppedRunTest, GoesOnAfterASignalAsIfItHadNeverStopped) {
  const std::string folder = Folder("terminated");
  std::vector<std::string> arguments = Arguments(folder);
  Process run(kProgram, arguments);
  ASSERT_TRUE(run.ReadUntil("**** Training..."));
  run.Signal(SIGTERM);
  const Outcome stopped = run.Wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM);
  EXPECT_THAT(
      stopped.text,
      ContainsRegex(
          "\nbenchmark: stopped by SIGTERM after [0-9]+ steps?; --resume continues from here\n"));

  // Checkpoints are not written over by accident.
  const Outcome anew = Run(arguments);
  EXPECT_EQ(anew.exit_code, 1);
  EXPECT_THAT(anew.text, HasSubstr("--resume"));

  arguments.push_back("--resume");
  const Outcome resumed = Run(arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from " + folder + "/checkpoints/"));
  ExpectSameAsUninterrupted(folder);

  // Nothing is left to do.
  const auto checkpoints = Files(folder + "/checkpoints");
  EXPECT_EQ(Run(arguments).exit_code, 0);
  EXPECT_TRUE(Files(folder + "/checkpoints") == checkpoints);
}

TEST_F(StoppedRunTest, GoesOnAfterItWasKilled) {
  const std::string folder = Folder("killed");
  std::vector<std::string> arguments = Arguments(folder);
  arguments.push_back("--checkpoint-steps=30");
  testing::WatchedFolder checkpoints(folder + "/checkpoints");
  Process run(kProgram, arguments);
  checkpoints.AwaitFile();
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait().exit_code, 128 + SIGKILL);

  arguments.push_back("--resume");
  const Outcome resumed = Run(arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from "));
  ExpectSameAsUninterrupted(folder);
}

TEST_F(StoppedRunTest, AClosedTerminalLeavesACheckpoint) {
  const std::string folder = Folder("hung_up");
  std::vector<std::string> arguments = Arguments(folder);
  Process run(kProgram, arguments);
  ASSERT_TRUE(run.ReadUntil("**** Training..."));
  run.Signal(SIGHUP);
  run.Signal(SIGHUP);  // the shell's and the system's
  const Outcome stopped = run.Wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGHUP);
  EXPECT_THAT(
      stopped.text,
      ContainsRegex(
          "\nbenchmark: stopped by SIGHUP after [0-9]+ steps?; --resume continues from here\n"));
  arguments.push_back("--resume");
  const Outcome resumed = Run(arguments);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("**** Resuming from " + folder + "/checkpoints/"));
}

TEST_F(StoppedRunTest, UnderNohupItOutlivesTheTerminal) {
  std::vector<std::string> arguments = Arguments(Folder("nohup"));
  arguments.insert(arguments.begin(), {"-c", "trap '' HUP; exec \"$0\" \"$@\"", kProgram});
  Process run("/bin/sh", arguments);
  ASSERT_TRUE(run.ReadUntil("**** Training..."));
  run.Signal(SIGHUP);
  EXPECT_EQ(run.Wait().exit_code, 0);
}

// The second learns who the first is, and disturbs nothing.
TEST_F(StoppedRunTest, AFolderForCheckpointsIsOfOneRunAtATime) {
  const std::string folder = Folder("shared");
  std::vector<std::string> arguments = Arguments(folder);
  Process first(kProgram, arguments);
  ASSERT_TRUE(first.ReadUntil("**** Training..."));
  arguments.push_back("--resume=if-there");
  const Outcome second = Run(arguments);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.text, HasSubstr("benchmark: --checkpoint-dir: " + folder +
                                     "/checkpoints: is in use by process " +
                                     std::to_string(first.pid()) + " on host "));
  EXPECT_THAT(second.text, Not(HasSubstr("**** Loading")));
  first.Signal(SIGKILL);
  first.Wait();
  EXPECT_EQ(Run(arguments).exit_code, 0) << "a dead process holds nothing";
  ExpectSameAsUninterrupted(folder);
}

TEST_F(StoppedRunTest, WithoutAFolderForCheckpointsASignalJustEndsIt) {
  std::vector<std::string> arguments = Arguments(Folder("no_checkpoints"));
  arguments.pop_back();
  Process run(kProgram, arguments);
  ASSERT_TRUE(run.ReadUntil("**** Training..."));
  run.Signal(SIGINT);
  const Outcome stopped = run.Wait();
  EXPECT_EQ(stopped.exit_code, 128 + SIGINT);
  EXPECT_THAT(stopped.text,
              ContainsRegex("[0-9] steps?; --checkpoint-dir would have saved the run\n"));
}

constexpr char kSmallRun[] =
    "--model=simplecnn --dataset=synthetic --synthetic-pattern=classes "
    "--synthetic-input-shape=1,8,8 --synthetic-output-shape=3 --synthetic-train-samples=50 "
    "--synthetic-test-samples=20 --batch-size=8 ";

// The metrics of the last test of a run, as printed, and as numbers.
std::string TestMetrics(const std::string& text) {
  const size_t at = text.rfind("test_");
  if (at == std::string::npos) return "no test in\n" + text;
  const size_t begin = text.rfind("samples/s, ", at);
  return text.substr(begin, text.find(']', begin) - begin);
}
double TestLoss(const std::string& text) {
  const size_t at = text.rfind("test_cce: ");
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + 10);
}

TEST(BenchmarkStateTest, SavedModelsGiveTheSameAnswers) {
  const std::string folder = NewFolder("saved_models");
  const Outcome trained = Launch(std::string(kSmallRun) +
                                 "--evaluate --schedulers=model_checkpoint "
                                 "--model-checkpoint-save-freq=1 --model-dir=" +
                                 folder + " --checkpoint-dir=" + folder + "/checkpoints");
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  ASSERT_GT(TestLoss(trained.text), 0) << trained.text;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::erase(files, folder + "/checkpoints/.lock");
  ASSERT_EQ(files.size(), 2u);  // the model and the checkpoint
  for (const std::string& file : files) {
    const Outcome tested =
        Launch(std::string(kSmallRun) + "--evaluate-only --weights-and-bias-filename=" + file);
    EXPECT_EQ(tested.exit_code, 0) << tested.text;
    EXPECT_THAT(tested.text, HasSubstr("**** Loaded 8 of 8 arrays of weights from " + file + "\n"));
    EXPECT_EQ(TestMetrics(tested.text).substr(11), TestMetrics(trained.text).substr(11)) << file;
    EXPECT_EQ(TestLoss(tested.text), TestLoss(trained.text));
  }
}

TEST(BenchmarkStateTest, ARunThatIsRefusedLeavesTheCheckpointsAsTheyWere) {
  const std::string folder = NewFolder("refused");
  const std::string checkpoints = folder + "/checkpoints";
  const std::string run = std::string(kSmallRun) + "--checkpoint-dir=" + checkpoints + " ";
  ASSERT_EQ(Launch(run + "--num-epochs=1 --checkpoint-steps=2").exit_code, 0);
  ASSERT_TRUE(std::filesystem::exists(checkpoints + "/checkpoint-4.npz"));
  std::filesystem::resize_file(checkpoints + "/checkpoint-5.npz", 100);
  const auto before = Files(checkpoints);
  const struct {
    const char *options, *error;
  } refused[] = {
      {"--history-file=nowhere/h.csv",
       "--history-file: nowhere/h.csv: cannot be written: folder nowhere: No such file or "
       "directory"},
      {"--synthetic-train-samples=60", "the number of samples was 50 and is now 60"},
      {"--optimizer-momentum=0.5", "the momentum of the optimizer was 0.9 and is now 0.5"}};
  for (const auto& r : refused) {
    const Outcome outcome = Launch(run + "--num-epochs=2 --resume " + r.options);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(r.error));
    EXPECT_TRUE(Files(checkpoints) == before) << r.options;
  }
  const Outcome outcome = Launch(run + "--num-epochs=2 --resume");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("checkpoint-4.npz, 4 steps done, learning rate 0.01\n"));
  EXPECT_THAT(outcome.text,
              HasSubstr("is newer than the checkpoint that the run resumes from; renamed to " +
                        checkpoints + "/checkpoint-5"));
  EXPECT_TRUE(std::filesystem::exists(checkpoints + "/checkpoint-5.npz.given-up"));
}

// Even root can write none of these.
TEST(BenchmarkStateTest, WhatCannotBeWrittenIsRefusedBeforeDataAreLoaded) {
  const std::string folder = NewFolder("not_written");
  const std::string picture =
      testing::WriteFile(folder, "picture", testing::EncodePng(4, 4, testing::Bytes(48)));
  const std::string before = Contents(picture);
  const struct {
    std::string option, error;
  } cases[] = {
      {"--checkpoint-dir=/proc/self",
       "--checkpoint-dir: /proc/self: cannot write checkpoints there: "},
      {"--checkpoint-dir=" + picture,
       "--checkpoint-dir: " + picture + ": cannot create the folder for checkpoints"},
      {"--model-dir=/proc/self", "--model-dir=/proc/self: cannot write models there: "},
      {"--history-file=/proc/self/h.csv", "--history-file: /proc/self/h.csv: "},
      {"--history-file=" + picture,
       "--history-file: " + picture + ": is not a history written by DTNN, and would be "},
  };
  for (const auto& c : cases) {
    const Outcome outcome = Launch(std::string(kSmallRun) + c.option);
    EXPECT_EQ(outcome.exit_code, 1) << c.option;
    EXPECT_EQ(outcome.text.find("benchmark: " + c.error), 0u) << outcome.text;
    EXPECT_EQ(Lines(outcome.text).size(), 1u) << outcome.text;
  }
  EXPECT_EQ(Contents(picture), before);
}

// Every option that names a file to write. What there is already may be an output of the same
// option, which a second run replaces; anything else stays as it is, whatever its name ends in.
TEST(BenchmarkStateTest, OnlyItsOwnFilesAreWrittenOver) {
  const std::string folder = NewFolder("outputs");
  const std::vector<std::pair<std::string, std::string>> outputs = {
      {"save-model", "m.npz"},      {"save-model", "m.safetensors"}, {"history-file", "h.csv"},
      {"history-file", "h.jsonl"},  {"history-file", "h.txt"},       {"report", "r.html"},
      {"tracer-output", "t.json"},  {"tracer-output", "t.prv"},      {"tracer-output", "t.csv"},
      {"tracer-output", "t{rank}"}, {"profile", "p.json"},           {"profile", "p.csv"},
      {"best-of-file", "b.txt"},
  };
  for (const auto& [option, name] : outputs) {
    SCOPED_TRACE(option + " " + name);
    std::string file = folder + "/" + name;
    std::string run = std::string(kSmallRun) + "--num-epochs=1 --quiet --" + option + "=" + file;
    if (option == "best-of-file") run += " --enable-best-of";
    file = file.substr(0, file.find("{rank}")) + (name == "t{rank}" ? "0" : "");
    for (const char* const time : {"first", "second"}) {
      const Outcome outcome = Launch(run);
      EXPECT_EQ(outcome.exit_code, 0) << time << ": " << outcome.text;
    }
    const std::string own = Contents(file);
    EXPECT_FALSE(own.empty());
    for (const std::string foreign :
         {"epoch,accuracy,loss\n1,.5,.7\n", "{\"traceEvents\":[]}", "<!DOCTYPE html>\n<p>thesis",
          "#Paraver (01/01/26 at 10:00):5:1(1):1:1(1:1)\n", "PK\x03\x04 other arrays", "notes\n"}) {
      std::ofstream(file) << foreign;
      const Outcome outcome = Launch(run);
      EXPECT_EQ(outcome.exit_code, 1) << foreign;
      EXPECT_EQ(outcome.text.find("benchmark: --" + option + ": " + file), 0u) << outcome.text;
      EXPECT_EQ(Contents(file), foreign);
    }
  }
}

// Each of Paraver's three files may be a user's own.
TEST(BenchmarkStateTest, FilesBesideATraceAreNotWrittenOverEither) {
  const std::string folder = NewFolder("beside");
  const std::string run =
      std::string(kSmallRun) + "--num-epochs=1 --quiet --tracer-output=" + folder + "/t.prv";
  for (const char* const name : {"/t.pcf", "/t.row"}) {
    std::ofstream(folder + name) << "notes";
    const Outcome outcome = Launch(run);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
    EXPECT_EQ(Contents(folder + name), "notes");
    std::filesystem::remove(folder + name);
  }
}

TEST(BenchmarkStateTest, AnArrayFileThatIsNoModelIsNotWrittenOver) {
  const std::string folder = NewFolder("data_npz");
  const std::string data = folder + "/data.npz";
  const Tensor x = Must(Tensor::Zeros(DType::kUint8, Shape{2, 3}));
  Must(WriteNpz(data, {{"x_train", x}}));
  const std::string before = Contents(data);
  const Outcome outcome = Launch(std::string(kSmallRun) + "--save-model=" + data);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
  EXPECT_EQ(Contents(data), before);
}

// The history must not take the place of the log, as what the log's writer has open, nor that of
// the link; a link to a file that is not there yet leads to the file that is made.
TEST(BenchmarkStateTest, LinksAreNotWrittenOver) {
  const std::string folder = NewFolder("links");
  std::filesystem::create_symlink("/proc/self/fd/1", folder + "/stdout");
  for (const char* const option : {"history-file", "report", "tracer-output", "profile"}) {
    std::string link = folder + "/stdout";
    if (option == std::string("report")) link += ".html";
    if (option == std::string("profile")) link += ".json";
    if (!std::filesystem::is_symlink(link)) {
      std::filesystem::create_symlink("/proc/self/fd/1", link);
    }
    const Outcome outcome = Launch(std::string(kSmallRun) + "--num-epochs=3 --quiet --" + option +
                                   "=" + link + " 2>&1 >" + folder + "/log");
    EXPECT_EQ(outcome.exit_code, 1) << option;
    EXPECT_THAT(outcome.text, HasSubstr("which a process has open")) << option;
    EXPECT_TRUE(std::filesystem::is_symlink(link)) << option;
  }
  std::filesystem::create_symlink("later.csv", folder + "/h.csv");
  const Outcome outcome = Launch(
      std::string(kSmallRun) + "--num-epochs=3 --schedulers= --history-file=" + folder + "/h.csv");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/h.csv"));
  EXPECT_EQ(Lines(Contents(folder + "/later.csv")).size(), 4u);
}

// As `ulimit -f` and some file systems have one: the run says which file did not fit, and keeps
// what it wrote before.
TEST(BenchmarkStateTest, AFileBeyondTheLimitOfSizeIsAnErrorThatNamesIt) {
  const std::string folder = NewFolder("limit");
  const Outcome outcome =
      testing::Launch("ulimit -f 8; " + std::string(kProgram),
                      std::string(kSmallRun) + "--num-epochs=2 --quiet --checkpoint-dir=" + folder);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr(folder + "/checkpoint-"));
  EXPECT_THAT(outcome.text, HasSubstr("File too large"));
}

// On the standard error, whether quiet or not.
TEST(BenchmarkStateTest, WhatIsProbablyAMistakeIsWarnedOf) {
  const std::string folder = NewFolder("warnings");
  const auto errors = [](const std::string& options) {
    return Launch(std::string(kSmallRun) + options + " 2>&1 >/dev/null").text;
  };
  const std::string fresh = "--resume=if-there --checkpoint-dir=" + folder;
  EXPECT_EQ(errors(fresh + "/a --quiet"), "");
  EXPECT_EQ(errors(fresh + "/a --num-epochs=2"), "");
  EXPECT_EQ(errors(fresh + "/a --num-epochs=2 --quiet"),
            "benchmark: warning: --resume: all epochs of --num-epochs=2 are already done; to "
            "continue, give a larger number\n");
  EXPECT_EQ(errors("--batch-size=40"), "");
  EXPECT_EQ(errors("--quiet --batch-size=41"),
            "benchmark: warning: --batch-size=41: is more than the 40 samples to train on: every "
            "step takes all of them\n");
}

TEST(BenchmarkStateTest, AResumedRunWithNothingLeftSavesTheModelThatItWouldHaveSaved) {
  const std::string folder = NewFolder("saved_later");
  const std::string run = std::string(kSmallRun) + "--num-epochs=2 --checkpoint-dir=" + folder;
  ASSERT_EQ(Launch(run + " --save-model=" + folder + "/first.safetensors").exit_code, 0);
  ASSERT_EQ(Launch(run + " --resume --save-model=" + folder + "/later.safetensors").exit_code, 0);
  const std::string first = Contents(folder + "/first.safetensors");
  EXPECT_THAT(first, HasSubstr("val_categorical_accuracy"));
  EXPECT_EQ(Contents(folder + "/later.safetensors"), first);
}

TEST(BenchmarkStateTest, ResultsOnTheTestDataAreInEachFileOfTheRun) {
  const std::string folder = NewFolder("tested");
  const std::string run = std::string(kSmallRun) + "--evaluate --checkpoint-dir=" + folder +
                          " --history-file=" + folder + "/h.csv --save-model=" + folder +
                          "/m.safetensors --tensorboard-dir=" + folder +
                          "/board --report=" + folder + "/run.html --num-epochs=";
  for (const char* epochs : {"1", "2 --resume", "2 --resume"}) {  // the last has nothing to train
    const Outcome outcome = Launch(run + epochs);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::vector<std::string> lines = Lines(Contents(folder + "/h.csv"));
    ASSERT_EQ(lines.size(), size_t(1 + (epochs[0] - '0')));
    EXPECT_THAT(lines[0], ::testing::EndsWith("val_categorical_accuracy,test_categorical_cross_"
                                              "entropy,test_categorical_accuracy"));
    EXPECT_EQ(std::ranges::count(lines[0], ','), 7);
    for (size_t i = 1; i < lines.size(); ++i) {
      EXPECT_EQ(std::ranges::count(lines[i], ','), 7) << lines[i];
      EXPECT_EQ(lines[i].ends_with(",,"), i + 1 < lines.size()) << lines[i];
    }
    const std::string accuracy = lines.back().substr(lines.back().rfind(',') + 1);
    EXPECT_THAT(Contents(folder + "/m.safetensors"),
                HasSubstr("\\\"test_categorical_accuracy\\\""));
    EXPECT_THAT(Contents(folder + "/run.html"), HasSubstr("On the test data, after training"));
    std::string events;
    for (const auto& [name, bytes] : Files(folder + "/board/train")) events += bytes;
    EXPECT_THAT(events, HasSubstr("test_categorical_accuracy"));
    ASSERT_FALSE(accuracy.empty());
  }
}

// An epoch that was begun on one data set is not continued with another of the same form.
TEST(BenchmarkStateTest, AnEpochGoesOnWithTheSameDataOnly) {
  const std::string folder = NewFolder("other_data");
  const auto run = [&](const std::string& data, const std::string& more) {
    return Launch("--model=simplecnn --dataset=folder --dataset-path=" + folder + "/" + data +
                  " --batch-size=4 --checkpoint-dir=" + folder + "/checkpoints " + more);
  };
  for (const int data : {0, 1}) {
    for (const char* part : {"/train/cats", "/train/dogs"}) {
      const std::string images = folder + "/" + std::to_string(data) + part;
      std::filesystem::create_directories(images);
      for (int i = 0; i < 10; ++i) {
        testing::WriteFile(images, std::to_string(i),
                           testing::EncodePng(8, 8, testing::SmoothPixels(8, 8, 3, i + data)));
      }
    }
  }
  ASSERT_EQ(run("0", "--checkpoint-steps=2").exit_code, 0);
  std::filesystem::remove(folder + "/checkpoints/checkpoint-4.npz");  // the end of the epoch
  const Outcome refused = run("1", "--resume");
  EXPECT_EQ(refused.exit_code, 1) << refused.text;
  EXPECT_THAT(
      refused.text,
      ContainsRegex("checkpoint-2.npz: epoch 1 was interrupted and cannot be continued: the "
                    "checksum of the samples was [0-9a-f]{16} and is now [0-9a-f]{16}; "));
  // Wherever the same data lie.
  std::filesystem::rename(folder + "/0", folder + "/2");
  const Outcome moved = run("2", "--resume");
  EXPECT_EQ(moved.exit_code, 0) << moved.text;
  // The next epoch may have other data, which is said.
  const Outcome next = run("1", "--resume --num-epochs=2");
  EXPECT_EQ(next.exit_code, 0) << next.text;
  EXPECT_THAT(next.text,
              HasSubstr("benchmark: warning: resumed run: the checksum of the samples was "));
}

TEST(BenchmarkStateTest, LabelsFollowTheClassNamesOfASavedModel) {
  const std::string folder = NewFolder("class_names"), model = folder + "/m.safetensors";
  const auto data = [&](const std::string& name, const std::map<std::string, int>& classes) {
    for (const char* split : {"/train/", "/test/"}) {
      for (const auto& [name_of_class, grey] : classes) {
        const std::string images = folder + "/" + name + split + name_of_class;
        std::filesystem::create_directories(images);
        for (int i = 0; i < 8; ++i) {
          testing::WriteFile(images, std::to_string(i),
                             testing::EncodePng(4, 4, testing::Bytes(48, uint8_t(grey + i))));
        }
      }
    }
  };
  data("all", {{"blue", 20}, {"green", 120}, {"red", 220}});
  data("fewer", {{"green", 120}, {"red", 220}});
  data("others", {{"green", 120}, {"red", 220}, {"z_blue", 20}});
  const auto run = [&](const std::string& data, const std::string& more) {
    return Launch("--dataset=folder --dataset-path=" + folder + "/" + data +
                  " --batch-size=8 --schedulers= " + more);
  };
  const Outcome trained =
      run("all", "--model=simplemlp --num-epochs=40 --evaluate --save-model=" + model);
  ASSERT_EQ(trained.exit_code, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("test_acc: 100.00%"));
  const std::string load = " --weights-and-bias-filename=" + model;
  const Outcome fewer = run("fewer", "--evaluate-only" + load);
  EXPECT_EQ(fewer.exit_code, 0) << fewer.text;
  EXPECT_THAT(fewer.text, HasSubstr("test_acc: 100.00%"));
  for (const char* more :
       {"--evaluate-only", "--num-epochs=1", "--evaluate-only --model=simplemlp"}) {
    const Outcome refused = run("others", more + load);
    EXPECT_EQ(refused.exit_code, 1) << more;
    EXPECT_THAT(refused.text,
                HasSubstr(model + ": data set folder has the classes 3 (\"green\", "
                                  "\"red\", \"z_blue\"), which do not fit 3 (\"blue\", "
                                  "\"green\", \"red\")\n"));
  }
  const Outcome learns = run("others", "--model=simplemlp --num-epochs=1" + load);
  EXPECT_EQ(learns.exit_code, 0) << learns.text;
  EXPECT_THAT(learns.text, HasSubstr("warning: " + model + ": data set folder has the classes 3"));
}

TEST(BenchmarkStateTest, AResumedRunFollowsTheLearningRateItIsGiven) {
  const std::string folder = NewFolder("rate");
  const std::string run =
      std::string(kSmallRun) +
      "--schedulers=reduce_lr_every_nepochs --reduce-lr-every-nepochs-nepochs=1 "
      "--reduce-lr-every-nepochs-factor=0.5 --history-file=" +
      folder + "/h.csv --checkpoint-dir=" + folder + "/checkpoints ";
  ASSERT_EQ(Launch(run + "--learning-rate=0.5").exit_code, 0);
  const Outcome resumed = Launch(run + "--learning-rate=0.25 --num-epochs=2 --resume");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_THAT(resumed.text, HasSubstr("resumed run: the first learning rate was 0.5 and is now "
                                      "0.25; the run continues with 0.125\n"));
  EXPECT_THAT(resumed.text, HasSubstr("5 steps done, learning rate 0.125\n"));
  const std::vector<std::string> history = Lines(Contents(folder + "/h.csv"));
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[1].substr(0, 6), "1,0.5,");
  EXPECT_EQ(history[2].substr(0, 8), "2,0.125,");
}

TEST(BenchmarkStateTest, HistoriesHaveThreeForms) {
  const std::string folder = NewFolder("histories");
  for (const char* name : {"history.txt", "history.csv", "history.jsonl"}) {
    const std::string path = folder + "/" + name;
    const Outcome outcome =
        Launch(std::string(kSmallRun) + "--num-epochs=3 --quiet --history-file=" + path);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  }
  const std::vector<std::string> text = Lines(Contents(folder + "/history.txt"));
  ASSERT_EQ(text.size(), 3u);
  EXPECT_EQ(text[2].substr(0, 4), "  2 ");
  EXPECT_EQ(text[2].size(), 3u + 4 * 21);
  const std::vector<std::string> csv = Lines(Contents(folder + "/history.csv"));
  ASSERT_EQ(csv.size(), 4u);
  EXPECT_EQ(csv[0],
            "epoch,learning_rate,categorical_cross_entropy,categorical_accuracy,"
            "val_categorical_cross_entropy,val_categorical_accuracy");
  EXPECT_EQ(csv[3].substr(0, 7), "3,0.01,");
  const std::vector<std::string> json = Lines(Contents(folder + "/history.jsonl"));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_THAT(json[2], HasSubstr("{\"epoch\": 3, \"learning_rate\": 0.01, "
                                 "\"categorical_cross_entropy\": "));
}

TEST(BenchmarkStateTest, DryRunsTakeNoMemoryOfTheirOwn) {
  Process run(kProgram, {"--model=vgg19_imagenet", "--batch-size=4096", "--dry-run"});
  const Outcome outcome = run.Wait();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("vgg19_imagenet model"));
  EXPECT_THAT(outcome.text, HasSubstr("**** Memory for training on batches of 4096 samples:"));
  EXPECT_THAT(outcome.text,
              HasSubstr("**** In addition, for testing or validating on such batches:\n"));
  // The parameters alone would be 548 MB, all together hundreds of GB.
  EXPECT_LT(outcome.peak_bytes, int64_t{400} << 20);
}

// A run that takes several times what there is, of which a sample takes more than 40 MB.
std::string RunTooLarge() {
  const std::string batch = std::to_string(FindAvailableMemory().bytes / 10'000'000);
  return "--model=vgg16_imagenet --dataset=synthetic --synthetic-input-shape=3,224,224 "
         "--synthetic-output-shape=1000 --validation-split=0 --synthetic-train-samples=" +
         batch + " --batch-size=" + batch + " --quiet ";
}

TEST(BenchmarkStateTest, ARunThatTakesMoreMemoryThanThereIsIsRefused) {
  const Outcome outcome = Launch(RunTooLarge());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, ContainsRegex("^benchmark: training on batches of [0-9]+ samples takes "
                                          "[0-9.]+ .Bytes of memory \\(.*\\), but .* has [0-9.]+ "
                                          ".Bytes left; .*--force"));
  EXPECT_EQ(Lines(outcome.text).size(), 1u);
}

TEST(BenchmarkStateTest, ForceTriesItAllTheSame) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer takes more addresses than the limit of this test";
#endif
  // The limit lets the system refuse what is too much.
  const Outcome outcome = testing::Launch(
      "ulimit -v " + std::to_string(FindAvailableMemory().bytes / 1024) + "; " + kProgram,
      RunTooLarge() + "--force");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("benchmark: "));
  EXPECT_THAT(outcome.text, ContainsRegex("(no|out of|not enough) memory"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("--force runs")));
}

TEST(BenchmarkStateTest, DryRunsCountATestingPlanWhereThereIsOne) {
  const std::string run = "--model=simplecnn8 --dry-run --validation-split=0 ";
  EXPECT_THAT(Launch(run).text, Not(HasSubstr("In addition, for testing")));
  EXPECT_THAT(Launch(run + "--evaluate-only").text, Not(HasSubstr("In addition, for testing")));
  EXPECT_THAT(Launch(run + "--evaluate").text, HasSubstr("In addition, for testing"));
}

// The bytes that a dry run tells.
double AllOfTheRun(const std::string& text) {
  const size_t at = text.rfind("all of the run");
  if (at == std::string::npos) return 0;
  std::istringstream line(text.substr(text.find(':', at) + 1));
  double number = 0;
  std::string unit;
  line >> number >> unit;
  const std::string units[] = {"Bytes", "KBytes", "MBytes", "GBytes"};
  for (const std::string& larger : units) {
    if (unit == larger) return number;
    number *= 1024;
  }
  return 0;
}

// Within a tenth, beside what any process takes: copies of the best parameters, which take most of
// what this run takes besides its parameters, are made after the first epoch.
TEST(BenchmarkStateTest, ADryRunSaysWhatTheRunTakes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const auto arguments = [](const std::string& schedulers) {
    return std::vector<std::string>{"--model=vgg16_cifar10",
                                    "--dataset=synthetic",
                                    "--synthetic-input-shape=3,32,32",
                                    "--synthetic-train-samples=8",
                                    "--validation-split=0.5",
                                    "--batch-size=4",
                                    "--num-epochs=1",
                                    "--schedulers=" + schedulers,
                                    "--model-dir=" + NewFolder("takes")};
  };
  const auto seen = [&](const std::string& schedulers) {
    Process run(kProgram, arguments(schedulers));
    const Outcome outcome = run.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return double(outcome.peak_bytes);
  };
  const auto told = [&](const std::string& schedulers) {
    std::vector<std::string> dry = arguments(schedulers);
    dry.push_back("--dry-run");
    return AllOfTheRun(Process(kProgram, dry).Wait().text);
  };
  const double fewer = told(""), more = told("early_stopping,model_checkpoint");
  EXPECT_GT(more - fewer, 50e6);
  const double measured = seen("early_stopping,model_checkpoint") - seen("");
  EXPECT_NEAR(measured, more - fewer, 0.1 * (more - fewer));
}

TEST(BenchmarkStateTest, DryRunsKnowTheSizeOfResizedImages) {
  const std::string run = "--model=simplecnn8 --dataset=folder --dry-run --transform-resize ";
  const Outcome resized = Launch(run + "--transform-resize-size=64");
  EXPECT_EQ(resized.exit_code, 0) << resized.text;
  EXPECT_THAT(resized.text, HasSubstr("(64, 64, 3)"));
  EXPECT_THAT(resized.text, HasSubstr("The number of classes of --dataset=folder depends"));
  EXPECT_GT(AllOfTheRun(Launch(run + "--transform-resize-size=128").text),
            3 * AllOfTheRun(resized.text));
}

TEST(BenchmarkStateTest, DryRunsSayWhereTheSamplesAreTheNetworksOwn) {
  const char* const note = "**** The size of the samples of --dataset=archive depends on its files";
  const Outcome files = Launch("--model=simplecnn8 --dataset=archive --dry-run");
  EXPECT_EQ(files.exit_code, 0) << files.text;
  EXPECT_THAT(files.text, HasSubstr(note));
  EXPECT_THAT(Launch("--model=simplecnn8 --dataset=mnist --dry-run").text,
              Not(HasSubstr("depends on its files")));
}

TEST(BenchmarkStateTest, QuietAndVerboseRunsAreLessAndMore) {
  const std::string run = std::string(kSmallRun) + "--evaluate ";
  const Outcome quiet = Launch(run + "--quiet"), usual = Launch(run),
                verbose = Launch(run + "--verbose");
  for (const Outcome* outcome : {&quiet, &usual, &verbose}) {
    EXPECT_EQ(outcome->exit_code, 0) << outcome->text;
    EXPECT_THAT(outcome->text, HasSubstr("Throughput: "));
  }
  const char* const summary[] = {
      "  9 layers: 2 Conv2D, MaxPool2D, Flatten, 2 FC, Relu, Dropout, Softmax\n",
      "**** Parameters (the others have their defaults; --verbose lists all):\n",
      "**** Samples of 8x8x1: 40 to train on in 5 steps, 10 to validate on, 20 to test",
  };
  for (const char* line : summary) {
    EXPECT_THAT(quiet.text, Not(HasSubstr(line)));
    EXPECT_THAT(usual.text, HasSubstr(line));
  }
  const char* const details[] = {
      "|             Total parameters ",
      "**** Parameters:\n",
      "\n  mpi_processes                  : 1\n",
      "**** Loaders: 1 thread, 2 batches ahead",
      "**** Memory of training:",
      "**** Algorithms of training:\n  layer 1 (Conv2D): forward ",
      "**** Kernels: ",
      "**** Waited for data: ",
  };
  for (const char* detail : details) {
    EXPECT_THAT(verbose.text, HasSubstr(detail));
    EXPECT_THAT(usual.text, Not(HasSubstr(detail)));
  }
}

TEST(BenchmarkStateTest, VerboseDispatchTellsWhatElseCouldRunAndWhatNot) {
  const Outcome outcome = Launch(std::string(kSmallRun) + "--verbose=dispatch");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text,
              HasSubstr("**** Algorithms of training:\n  layer 1 (Conv2D): forward "));
  EXPECT_THAT(outcome.text,
              ::testing::ContainsRegex("\n    forward: [a-z0-9]+ .* MB.*, not .*; refused: "));
  EXPECT_THAT(outcome.text, HasSubstr("depthwise computes one filter per channel"));
}

// In evaluation of a network with convolutions, normalisations and relus in this order.
TEST(BenchmarkStateTest, FusedOptionsGiveTheSameTestResults) {
  const std::string run =
      "--model=mobilenetv1 --dataset=synthetic --synthetic-pattern=classes "
      "--synthetic-input-shape=3,32,32 --synthetic-train-samples=40 --synthetic-test-samples=20 "
      "--batch-size=8 --learning-rate=0.0001 --evaluate ";
  const Outcome plain = Launch(run +
                               "--enable-fused-conv-bn=False --enable-fused-conv-bn-relu=False "
                               "--enable-fused-bn-relu=False --enable-fused-conv-relu=False");
  ASSERT_EQ(plain.exit_code, 0) << plain.text;
  EXPECT_THAT(plain.text, Not(HasSubstr("Fusing ")));
  const Outcome unasked = Launch(run);
  EXPECT_THAT(unasked.text, Not(HasSubstr("Fusing "))) << "only where the user asks for it";
  EXPECT_NEAR(TestLoss(unasked.text), TestLoss(plain.text), 1e-4 * TestLoss(plain.text));
  for (const char* option : {"bn-relu", "conv-bn", "conv-bn-relu"}) {
    const Outcome fused = Launch(run + "--enable-fused-" + option);
    ASSERT_EQ(fused.exit_code, 0) << fused.text;
    EXPECT_THAT(fused.text, HasSubstr("Fusing "));
    EXPECT_NEAR(TestLoss(fused.text), TestLoss(plain.text), 1e-4 * TestLoss(plain.text)) << option;
  }
}

TEST(BenchmarkStateTest, ImagesAreTransformedAndAugmentedAsAsked) {
  const std::string root = NewFolder("images");
  for (const char* folder : {"/train/cats", "/train/dogs", "/test/cats", "/test/dogs"}) {
    std::filesystem::create_directories(root + folder);
    for (int i = 0; i < 8; ++i) {
      const int height = 20 + i, width = 30 - i;
      testing::WriteFile(
          root + folder, std::to_string(i),
          testing::EncodePng(height, width, testing::SmoothPixels(height, width, 3, i)));
    }
  }
  const std::string run = "--model=simplecnn --dataset=folder --dataset-path=" + root +
                          " --transform-resize --transform-resize-size=16 --batch-size=4 "
                          "--evaluate --verbose ";
  const struct {
    const char *options, *text;
  } cases[] = {
      {"", "**** Samples of 16x16x3: 13 to train on in 4 steps, 3 to validate on, 16 to test"},
      {"--transform-crop --transform-crop-perc=0.5", "Samples of 16x16x3"},
      {"--dataset-percentage=0.5", "6 to train on in 2 steps, 1 to validate on, 8 to test"},
      {"--dataset-percentage=2", "26 to train on in 7 steps, 6 to validate on, 32 to test"},
      {"--augment-flip --augment-flip-prob=1", "**** Done"},
      {"--augment-crop --augment-crop-size=9 --augment-crop-prob=0.7", "**** Done"},
      {"--standardize --noaugment-shuffle", "**** Done"},
      {"--normalize --loader-threads=3", "**** Loaders: 3 threads"},
      {"--test-as-validation", "16 to train on in 4 steps, 16 to validate on, 16 to test"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = Launch(run + c.options);
    EXPECT_EQ(outcome.exit_code, 0) << c.options << "\n" << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(c.text)) << c.options;
  }
  const Outcome other_sizes =
      Launch("--model=simplecnn --dataset=folder --dataset-path=" + root + " 2>&1 >/dev/null");
  EXPECT_EQ(other_sizes.exit_code, 1);
  EXPECT_THAT(other_sizes.text, HasSubstr("images of different sizes need --transform-resize"));
}

TEST(BenchmarkStateTest, EverySchedulerRuns) {
  const std::string folder = NewFolder("schedulers");
  for (const std::string_view name : SplitList(FindOption("schedulers")->words)) {
    const Outcome outcome = Launch(
        std::string(kSmallRun) + "--num-epochs=3 --stop-at-loss-threshold=2 --model-dir=" + folder +
        " --schedulers=" + std::string(name));
    EXPECT_EQ(outcome.exit_code, 0) << name << "\n" << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("**** Done")) << name;
  }
}

TEST(BenchmarkStateTest, ATransportOfTheEnvironmentThatThereIsNotIsRefused) {
  setenv("PYMPI_PROTO", "carrier-pigeon", 1);
  const Outcome outcome = Launch(std::string(kSmallRun) + "--num-epochs=1 2>&1 >/dev/null");
  const Outcome named =
      Launch(std::string(kSmallRun) + "--num-epochs=1 --transport=mpi 2>&1 >/dev/null");
  unsetenv("PYMPI_PROTO");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("environment: PYMPI_PROTO=\"carrier-pigeon\": there is no "
                                      "such transport in this build; must be mpi, tcp, grpc or "
                                      "mqtt"));
  EXPECT_EQ(named.exit_code, 0) << named.text;  // the option outranks it
}

}  // namespace
}  // namespace dtnn

// The program, beside an aggregator and clients that are processes of their own.

#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using testing::Contents;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Process;
using Flags = std::vector<std::string>;

constexpr char kSimulate[] = "apps/simulate/simulate", kAggregator[] = "apps/aggregator/aggregator",
               kClient[] = "apps/benchmark";

Flags operator+(Flags all, const Flags& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class SimulateTest : public ::testing::Test {
 protected:
  SimulateTest() : folder_(testing::NewFolder("simulate")) {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
    setenv("OMP_NUM_THREADS", "2", 1);
    WriteDigits("train", 320);
    WriteDigits("t10k", 50);
  }

  // Digits that a network can learn: a bright row for each class, and noise.
  void WriteDigits(const std::string& split, int count) {
    std::vector<uint8_t> images = testing::Elements(size_t(count) * 28 * 28), labels;
    for (int i = 0; i < count; ++i) {
      const int label = i * 7 % 10;
      labels.push_back(uint8_t(label));
      std::fill_n(images.begin() + i * 28 * 28 + (2 * label + 4) * 28, 28, uint8_t{255});
    }
    for (uint8_t& pixel : images) pixel = pixel == 255 ? pixel : pixel / 4;
    const auto n = uint32_t(count);
    testing::WriteFile(folder_, split + "-images-idx3-ubyte",
                       testing::IdxBytes({n, 28, 28}, images));
    testing::WriteFile(folder_, split + "-labels-idx1-ubyte", testing::IdxBytes({n}, labels));
  }

  // The options of a simulation, and of each client of a federation.
  Flags Training() const {
    return {"--model=simplecnn8", "--dataset=mnist",      "--dataset-path=" + folder_,
            "--batch-size=16",    "--learning-rate=0.05", "--optimizer-momentum=0.5"};
  }

  Outcome Simulate(const Flags& more) { return Process(kSimulate, Training() + more).Wait(); }

  // What four clients make in two rounds, of such parts of the samples.
  std::vector<float> Federation(const std::string& split, const Flags& aggregator,
                                const Flags& of_all, const Flags& of_clients) {
    // Free now, and with luck still when the aggregator listens there.
    const std::string address =
        Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local()).ToString();
    Process server(kAggregator, Flags{"--model=simplecnn8", "--dataset=mnist", "--rounds=2",
                                      "--min-clients=4", "--deadline=120", "--comm-timeout=60",
                                      "--address=" + address, "--save-model=" + Path("real.npz")} +
                                    aggregator + of_all);
    std::vector<std::unique_ptr<Process>> clients;
    for (int k = 1; k <= 4; ++k) {
      const std::string number = std::to_string(k);
      clients.push_back(std::make_unique<Process>(
          kClient, Training() +
                       Flags{"--validation-split=0", "--parallel=federated", "--comm-timeout=60",
                             "--server=" + address, "--client-name=client-" + number,
                             "--dataset-part=" + number + "/4@" + split} +
                       of_all + of_clients));
    }
    for (const auto& client : clients) {
      const Outcome outcome = client->Wait();
      EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    }
    const Outcome outcome = server.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return Parameters("real.npz");
  }

  std::vector<float> Simulation(const Flags& more) {
    const Outcome outcome = Simulate(more + Flags{"--save-model=" + Path("simulated.npz")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return Parameters("simulated.npz");
  }

  // Percent of the test split.
  double AccuracyAfter(int rounds, const Flags& more) {
    const Outcome outcome =
        Simulate(more + Flags{StrCat("--rounds=", rounds), "--history-file=" + Path("h.csv")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::string history = Contents(Path("h.csv"));
    std::filesystem::remove(Path("h.csv"));
    const std::vector<std::string> fields =
        absl::StrSplit(history.substr(history.rfind(StrCat("\n", rounds, ","))), ',');
    return std::stod(fields.at(4));
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // All arrays whose names have this in them.
  std::vector<float> Parameters(const std::string& name, std::string_view part = "") {
    ArrayFileReader file = Must(ArrayFileReader::Open(Path(name)));
    std::vector<float> all;
    for (const std::string& array : file.names()) {
      if (array.starts_with("__") || array.find(part) == array.npos) continue;
      const Tensor tensor = Must(file.Read(array));
      all.insert(all.end(), tensor.data<float>(), tensor.data<float>() + tensor.num_elements());
    }
    return all;
  }

  const std::string folder_;
};

const Flags kFour = {"--clients=4", "--clients-per-round=4", "--min-clients=4", "--rounds=2"};

struct Case {
  std::string name, split;
  Flags strategy, of_all = {}, of_clients = {};
};

const Flags kPlainSgd = {"--optimizer-momentum=0"};

class SameBitsTest : public SimulateTest, public ::testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(
    All, SameBitsTest,
    ::testing::Values(Case{"wavg", "equal", {"--strategy=wavg"}},
                      Case{"fedprox", "sizes:0.5", {"--strategy=fedprox", "--proximal-mu=0.1"}},
                      Case{"fedadam", "dirichlet:1", {"--strategy=fedadam"}},
                      Case{"fednova", "sizes:0.5", {"--strategy=fednova"}, {}, kPlainSgd},
                      Case{"fednova_masked",
                           "labels:5",
                           {"--strategy=fednova"},
                           {"--encryption=masked"},
                           kPlainSgd},
                      Case{"scaffold", "labels:5", {"--strategy=scaffold"}, {}, kPlainSgd},
                      Case{"scaffold_masked",
                           "sizes:0.5",
                           {"--strategy=scaffold"},
                           {"--encryption=masked"},
                           kPlainSgd},
                      Case{"fedyogi", "labels:5", {"--strategy=fedyogi"}},
                      Case{"local", "labels:5", {"--strategy=wavg"}, {"--local-parameters=*_FC_*"}},
                      Case{"local_batch_norm",
                           "equal",
                           {"--strategy=wavg"},
                           {"--model=vgg3dobn", "--local-parameters=*BatchNormalization*"}},
                      Case{"local_fedadam_masked",
                           "sizes:0.5",
                           {"--strategy=fedadam"},
                           {"--encryption=masked", "--local-parameters=*_FC_*,*_biases"}},
                      Case{"local_fednova",
                           "sizes:0.5",
                           {"--strategy=fednova"},
                           {"--local-parameters=*_FC_*"},
                           kPlainSgd},
                      Case{"bf16", "sizes:0.5", {"--update-compression=bf16"}},
                      Case{
                          "fp16_robust", "equal", {"--update-compression=fp16", "--robust=median"}},
                      Case{"int8_fednova",
                           "sizes:0.5",
                           {"--update-compression=int8", "--strategy=fednova"},
                           {},
                           kPlainSgd},
                      Case{"int8_batch_norm",
                           "labels:5",
                           {"--update-compression=int8", "--strategy=fedadam"},
                           {"--model=vgg3dobn"}},
                      Case{"top_k", "labels:5", {"--update-compression=top-k:0.05"}},
                      Case{"top_k_local",
                           "sizes:0.5",
                           {"--update-compression=top-k:0.1"},
                           {"--local-parameters=*_FC_*"}},
                      Case{"fedadagrad", "sizes:0.5", {"--strategy=fedadagrad"}},
                      Case{"masked", "labels:5", {"--strategy=avg"}, {"--encryption=masked"}}),
    [](const auto& info) { return info.param.name; });

TEST_P(SameBitsTest, AsOfClientsInProcessesOfTheirOwn) {
  const Case& test = GetParam();
  const std::vector<float> real =
      Federation(test.split, test.strategy, test.of_all, test.of_clients);
  ASSERT_GT(real.size(), 10000u);
  EXPECT_EQ(Simulation(kFour + test.strategy + test.of_all + test.of_clients +
                       Flags{"--split=" + test.split}),
            real);
}

TEST_F(SimulateTest, TheSameBitsOnAnyNumberOfThreads) {
  std::vector<float> first;
  for (const char* threads : {"1", "2", "4"}) {
    setenv("OMP_NUM_THREADS", threads, 1);
    const std::vector<float> end =
        Simulation({"--clients=40", "--clients-per-round=9", "--rounds=3", "--split=dirichlet:0.3",
                    "--strategy=fedadam", "--drop-out=0.2", "--min-clients=4"});
    if (first.empty()) first = end;
    EXPECT_EQ(end, first) << threads;
  }
}

// Also of rounds that do not wait, whose order is that of a simulated clock.
TEST_F(SimulateTest, ABufferHasTheSameBitsOnAnyNumberOfThreads) {
  std::vector<float> first;
  std::string first_clients;
  for (const char* threads : {"1", "2", "4"}) {
    setenv("OMP_NUM_THREADS", threads, 1);
    const std::vector<float> end =
        Simulation({"--clients=20", "--clients-per-round=8", "--buffer-size=3", "--rounds=5",
                    "--client-seconds=lognormal:1", "--drop-out=0.1", "--strategy=fedadam",
                    "--history-file=" + Path("rounds.csv"), "--clients-file=" + Path("clients.csv"),
                    "--max-staleness=4"});
    // Without the seconds of this machine.
    std::string clients;
    for (const absl::string_view line : absl::StrSplit(Contents(Path("clients.csv")), '\n')) {
      std::vector<std::string> columns = absl::StrSplit(line, ',');
      if (columns.size() > 5) columns[4] = "";
      for (const std::string& column : columns) StrAppend(&clients, column, ",");
    }
    if (first.empty()) first = end;
    if (first_clients.empty()) first_clients = clients;
    EXPECT_EQ(end, first) << threads;
    EXPECT_EQ(clients, first_clients) << threads;
  }
  const std::string history = Contents(Path("rounds.csv"));
  EXPECT_THAT(history, HasSubstr(",bytes_received,staleness,too_stale,simulated_seconds\n1,"));
  const std::string last = history.substr(history.rfind(',') + 1);
  EXPECT_NE(std::stod(last), std::round(std::stod(last))) << "clients have times of their own";
  EXPECT_THAT(Contents(Path("clients.csv")), HasSubstr("samples,seconds,staleness,"));
  EXPECT_EQ(testing::Count(Contents(Path("clients.csv")), ",accepted,"), 5 * 3);
}

TEST_F(SimulateTest, WritesWhatAnAggregatorWritesAndTheTest) {
  const Outcome outcome =
      Simulate({"--clients=8", "--clients-per-round=3", "--rounds=3", "--test-every=2",
                "--history-file=" + Path("rounds.csv"), "--report=" + Path("rounds.html"),
                "--clients-file=" + Path("clients.csv")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** 8 clients, 3 in each of 3 rounds, 40 to 40 samples "
                                      "each (--split=equal)"));
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 3: 3 of 3 clients"));
  const std::string history = Contents(Path("rounds.csv"));
  EXPECT_THAT(history, HasSubstr("epoch,categorical_cross_entropy,categorical_accuracy,"
                                 "val_categorical_cross_entropy,val_categorical_accuracy,clients,"
                                 "samples,attempts,seconds,bytes_sent,bytes_received\n1,"));
  EXPECT_EQ(testing::Count(history, "\n"), 4);
  EXPECT_THAT(Contents(Path("rounds.html")), HasSubstr("over 3 of 8 clients a round, by wavg"));
  const testing::CheckedPage page = testing::CheckPage(Contents(Path("rounds.html")));
  const auto results = testing::NumbersOf(*page.root.All("table")[0]);
  ASSERT_GE(results.size(), 4u);
  for (size_t metric = 0; metric < 4; ++metric) {
    EXPECT_GE(results[metric][2], 0) << "it is known which round is the best";
    EXPECT_GE(results[metric][3], 1);
  }
  EXPECT_EQ(testing::Count(Contents(Path("clients.csv")), ",accepted,40,"), 9);
}

// The folder of the files vanishes after the first round.
TEST_F(SimulateTest, FilesThatCannotBeWrittenDoNotEndTheRounds) {
  ASSERT_TRUE(std::filesystem::create_directory(Path("gone")));
  Process simulation(kSimulate,
                     Training() + Flags{"--clients=8", "--clients-per-round=2", "--rounds=12",
                                        "--history-file=" + Path("gone/rounds.csv"),
                                        "--clients-file=" + Path("gone/clients.csv"),
                                        "--report=" + Path("gone/rounds.html")});
  ASSERT_TRUE(simulation.ReadUntil("**** Round 1: "));
  std::filesystem::rename(Path("gone"), Path("elsewhere"));
  const Outcome outcome = simulation.Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 12: "));
  for (const std::string what : {"history", "file of clients", "report"}) {
    EXPECT_EQ(testing::Count(outcome.text, "warning: the " + what + " is not written: "), 1)
        << outcome.text;
  }
  for (const std::string name : {"rounds.csv", "clients.csv", "rounds.html"}) {
    EXPECT_EQ(testing::Count(outcome.text, "gone/" + name + ": is incomplete"), 1) << outcome.text;
  }
}

TEST_F(SimulateTest, ContinuesWhereASignalHasStoppedIt) {
  const Flags federation = {"--clients=12",       "--clients-per-round=4", "--split=labels:2",
                            "--strategy=fedavgm", "--dp-clip=1",           "--dp-noise=0.01",
                            "--dp-quantile=0.5"};
  const std::vector<float> whole = Simulation(federation + Flags{"--rounds=4"});
  const Flags kept = federation + Flags{"--checkpoint-dir=" + Path("state"), "--resume=if-there"};
  Process stopped(kSimulate, Training() + kept + Flags{"--rounds=100000"});
  ASSERT_TRUE(stopped.ReadUntil("**** Round 2: "));
  stopped.Signal(SIGINT);
  const Outcome outcome = stopped.Wait();
  EXPECT_EQ(outcome.exit_code, 128 + SIGINT) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("; --resume continues from here"));
  // It may have done more than two by then.
  const Outcome other = Simulate(kept + Flags{"--rounds=3", "--random-seed=3"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.text, HasSubstr("seed 57005"));
  std::filesystem::remove_all(Path("state"));
  ASSERT_EQ(Simulate(kept + Flags{"--rounds=2"}).exit_code, 0);
  EXPECT_EQ(Simulation(kept + Flags{"--rounds=4"}), whole);
  // Nothing is left to do, and the weights are written all the same.
  ASSERT_TRUE(std::filesystem::remove(Path("simulated.npz")));
  EXPECT_EQ(Simulation(kept + Flags{"--rounds=4"}), whole);
}

// Control variates, parameters that stay, and what was not sent continue with the same bits.
TEST_F(SimulateTest, WhatStaysWithClientsIsKept) {
  const std::pair<std::string, Flags> kinds[] = {
      {"scaffold", {"--strategy=scaffold", "--optimizer-momentum=0"}},
      {"local", {"--local-parameters=*_FC_*"}},
      {"top_k", {"--update-compression=top-k:0.02"}},
      {"top_k_local", {"--update-compression=top-k:0.02", "--local-parameters=*_FC_*"}}};
  for (const auto& [kind, options] : kinds) {
    const Flags federation =
        Flags{"--clients=6", "--clients-per-round=3", "--split=labels:2", "--test-every=0"} +
        options;
    const std::vector<float> whole = Simulation(federation + Flags{"--rounds=4"});
    const Flags kept = federation + Flags{"--checkpoint-dir=" + Path(kind), "--resume=if-there"};
    ASSERT_EQ(Simulate(kept + Flags{"--rounds=2"}).exit_code, 0);
    EXPECT_EQ(Simulation(kept + Flags{"--rounds=4"}), whole) << kind;
    ASSERT_TRUE(std::filesystem::remove(Path(kind) + "/clients-4.npz"));
    const Outcome without = Simulate(kept + Flags{"--rounds=5"});
    EXPECT_EQ(without.exit_code, 1);
    EXPECT_THAT(without.text, HasSubstr("clients-4.npz, with what stayed with the clients after "
                                        "round 4; begin a new federation in another folder"));
  }
}

TEST_F(SimulateTest, CompressedUpdatesLearn) {
  for (const char* compression : {"bf16", "int8", "top-k:0.05"}) {
    EXPECT_GT(AccuracyAfter(8, {"--clients=10", "--clients-per-round=10", "--num-epochs=4",
                                StrCat("--update-compression=", compression)}),
              90)
        << compression;
  }
}

// A fifth of the clients send four times the opposite of what they have learnt: in the mean nothing
// is left.
TEST_F(SimulateTest, RobustMeansLearnAmongLiars) {
  const auto accuracy = [this](const Flags& more) {
    return AccuracyAfter(8,
                         Flags{"--clients=10", "--clients-per-round=10", "--num-epochs=4"} + more);
  };
  EXPECT_GT(accuracy({}), 90);
  const Flags lying = {"--liars=0.2", "--lie=-4"};
  EXPECT_LT(accuracy(lying), 50);
  for (const char* robust : {"median", "trimmed:0.2", "krum:0.2"}) {
    EXPECT_GT(accuracy(lying + Flags{StrCat("--robust=", robust), "--min-clients=3"}), 90)
        << robust;
  }
}

// Not of those that a round asks. A lie of 0 is to have learnt nothing.
TEST_F(SimulateTest, LiarsAreAFractionOfAllClients) {
  const Flags few = {"--clients=10", "--clients-per-round=2"}, all = {"--liars=1", "--lie=0"};
  const auto differ = [](const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double(a[i]) - b[i]));
    return most;
  };
  const std::vector<float> once = Simulation(few + all + Flags{"--rounds=1"});
  EXPECT_LT(differ(Simulation(few + all + Flags{"--rounds=4"}), once), 1e-5);
  EXPECT_GT(differ(Simulation(few + Flags{"--rounds=1"}), once), 1e-3);
}

// As many updates, and clients that differ in speed.
TEST_F(SimulateTest, ABufferLearnsAsRoundsThatWaitDo) {
  const Flags clients = {"--clients=10", "--clients-per-round=6", "--num-epochs=4",
                         "--client-seconds=lognormal:1"};
  const double waits = AccuracyAfter(10, clients);
  const double does_not = AccuracyAfter(20, clients + Flags{"--buffer-size=3"});
  std::cout << waits << " % after 10 rounds of 6 updates, " << does_not
            << " % after 20 rounds of 3\n";
  EXPECT_GT(waits, 90);
  EXPECT_GT(does_not, waits - 3);
}

TEST_F(SimulateTest, ClientsWithoutSamplesAreSaidAndNotAsked) {
  std::ofstream(Path("division.txt")) << "0 1 2 3\n\n4,5,6\n";
  const Outcome outcome = Simulate({"--clients=3", "--clients-per-round=3", "--rounds=2",
                                    "--split=file:" + Path("division.txt")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr(": 1 client has no samples, and is never asked"));
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 2: 2 of 2 clients"));
  EXPECT_THAT(outcome.text, HasSubstr(" 3 to 4 samples each"));
}

TEST_F(SimulateTest, OnlyClientsThatFulfilTheCriterionAreAsked) {
  std::ofstream(Path("labels.txt")) << "site=north\n\nsite=south\nsite=north,battery=7\n";
  const Flags federation = {"--clients=4", "--clients-per-round=4", "--rounds=2",
                            "--client-labels-file=" + Path("labels.txt"),
                            "--clients-file=" + Path("chosen.csv")};
  const Outcome outcome = Simulate(federation + Flags{"--select=site=north"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 2: 2 of 2 clients"));
  const std::string chosen = Contents(Path("chosen.csv"));
  for (const auto& [client, asked] :
       {std::pair(1, true), std::pair(2, false), std::pair(3, false), std::pair(4, true)}) {
    EXPECT_EQ(chosen.find(StrCat(",client-", client, ",")) != chosen.npos, asked) << chosen;
  }
  const Outcome none = Simulate(federation + Flags{"--select=battery>10"});
  EXPECT_EQ(none.exit_code, kExitFailed) << none.text;
  EXPECT_THAT(none.text, HasSubstr("round 1: 0 clients can be asked, and 1 are needed, and 4 more "
                                   "do not fulfil battery>10"));
}

TEST_F(SimulateTest, FlagsThatMakeNoSenseAreUsageErrors) {
  const std::pair<Flags, std::string> bad[] = {
      {{"--clients=3", "--clients-per-round=10"},
       "--clients-per-round=10: there are 3 (--clients)"},
      {{"--min-clients=11"}, "--min-clients=11: a round asks 10 (--clients-per-round)"},
      {{"--split=even"}, "--split=\"even\": expected equal, dirichlet:ALPHA, labels:K"},
      {{"--encryption=openfhe"}, "--encryption=openfhe: clients in one process can have masked"},
      {{"--encryption=masked"}, "--min-clients=1: --encryption=masked needs 2 or more"},
      {{"--encryption=masked", "--min-clients=2", "--clients=300", "--clients-per-round=256"},
       "adds up 255 updates at most; 1024 with --mask-neighbours"},
      {{"--resume"}, "--resume: needs --checkpoint-dir"},
      {{"--deadline=3"}, "--deadline"},
      {{"--drop-out=1"}, "--drop-out=1"},
      {{"--select=samples>>5"}, "--select: \"samples>>5\": expected conditions such as"},
      {{"--robust=mean"}, "--robust=\"mean\": expected median, trimmed:F"},
      {{"--update-compression=int4"}, "--update-compression=\"int4\": expected none, bf16, fp16"},
      {{"--update-compression=int8", "--encryption=masked", "--min-clients=2"},
       "--update-compression=int8: not with --encryption=masked: "},
      {{"--robust=krum:0.3", "--min-clients=4"},
       "--min-clients=4: --robust=krum:0.3 needs 5 or more, 3 more than twice the updates that it "
       "leaves out"},
      {{"--robust=krum:0.4999"}, "leaves out too many; take a smaller fraction"},
      {{"--robust=krum:0.1", "--min-clients=9", "--clients=5000", "--clients-per-round=4097"},
       "--clients-per-round=4097: --robust=krum:0.1 takes 4096 updates at most"},
      {{"--robust=median", "--strategy=fednova"},
       "--robust=median: not with --strategy=fednova, which needs the mean of the updates"},
      {{"--robust=median", "--encryption=masked", "--min-clients=2"}, "not with --encryption"},
      {{"--robust=median", "--dp-clip=1", "--dp-noise=1"}, "not with --dp-clip"},
      {{"--dp-clip=1"}, "needs both, or neither"},
      {{"--dp-clip=1", "--dp-noise=1", "--dp-quantile=0.5", "--dp-bit-noise=0.5"},
       "--dp-quantile, --dp-clip, --dp-noise, --dp-delta, --dp-clip-rate, --dp-bit-noise: a clip "
       "that adapts, with noise 0.5 of its bits: expected more than half of the noise 1, of which "
       "the updates need the rest"},
      {{"--local-parameters=*_FC_*", "--test-every=1"},
       "--test-every=1: not with --local-parameters=*_FC_*, with which there is no model of all"},
      {{"--local-parameters=*BatchNorm*"},
       "--local-parameters: \"*BatchNorm*\" matches no parameter of model simplecnn8"},
      {{"--robust=trimmed:0.09"},
       "--robust=trimmed:0.09: of 10 updates, the most of a round, it leaves out 0.9, which is "
       "none; give a larger fraction"},
      {{"--history-file=" + Path("a.csv"), "--clients-file=" + Path("./a.csv")},
       "--history-file and --clients-file="},
      {{"--report=" + Path("a.html"), "--save-model=" + Path("a.html")},
       "--report and --save-model=" + Path("a.html") +
           ": are one file; give each a name of its "
           "own"},
  };
  for (const auto& [flags, message] : bad) {
    const Outcome outcome = Simulate(flags);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(message));
  }
  const Outcome labels = Simulate({"--split=labels:11"});
  EXPECT_EQ(labels.exit_code, 1);
  EXPECT_THAT(labels.text, HasSubstr("--split=labels:11: 11 labels per client, but the samples "
                                     "have 10"));
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  }
  return largest;
}

// On any number of threads; and the last layer of the weights that are saved is the first one.
TEST_F(SimulateTest, LocalParametersStayWithClients) {
  const auto last_layer = [&](const Flags& more) {
    Simulation(more + Flags{"--clients=6", "--clients-per-round=4", "--test-every=0"});
    return Parameters("simulated.npz", "_FC_");
  };
  const std::vector<float> first_one = last_layer({"--rounds=1", "--learning-rate=1e-30"});
  ASSERT_FALSE(first_one.empty());
  // A mean of equal numbers is rounded.
  EXPECT_LT(Distance(last_layer({"--rounds=3", "--local-parameters=*_FC_*"}), first_one), 1e-6);
  EXPECT_GT(Distance(last_layer({"--rounds=3"}), first_one), 1e-3);
  const Flags two = {"--clients=6", "--clients-per-round=4", "--rounds=3"};
  const std::vector<float> all = Simulation(two + Flags{"--test-every=0"});
  std::vector<float> first;
  for (const char* threads : {"1", "3"}) {
    setenv("OMP_NUM_THREADS", threads, 1);
    const std::vector<float> end = Simulation(two + Flags{"--local-parameters=*_FC_*"});
    EXPECT_NE(end, all);
    if (first.empty()) first = end;
    EXPECT_EQ(end, first) << threads;
  }
  unsetenv("OMP_NUM_THREADS");
}

// Before data are read.
TEST_F(SimulateTest, FednovaIsForPlainSgd) {
  const Outcome outcome = Simulate(
      {"--clients=4", "--rounds=1", "--strategy=fednova", "--dataset-path=" + Path("none")});
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.text, HasSubstr("which is right for plain SGD alone; train with "
                                      "--optimizer=sgd and --optimizer-momentum=0"));
}

// Two batches in each epoch.
TEST_F(SimulateTest, FednovaCountsStepsUpToALimit) {
  const Outcome outcome =
      Simulate(kPlainSgd + Flags{"--clients=10", "--strategy=fednova", "--num-epochs=999999999"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("client-01: the aggregator weighs updates by their number "
                                      "(fednova), and 1073741824 or more in a round are too many; "
                                      "train with a smaller --num-epochs\n"));
}

TEST_F(SimulateTest, FewerClientsThanUsualAreAllAsked) {
  const Outcome outcome = Simulate({"--clients=5", "--rounds=1", "--test-every=0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** 5 clients, 5 in each of 1 round"));
}

TEST_F(SimulateTest, FractionsThatAreRoundedDownAreSaid) {
  const auto said = [this](const Flags& more) {
    return Simulate(Flags{"--clients=10", "--rounds=1", "--test-every=0"} + more).text;
  };
  EXPECT_THAT(
      said({"--robust=trimmed:0.25"}),
      HasSubstr(
          "warning: --robust=trimmed:0.25: leaves out 2 of 10 updates on each side (2.5, rounded "
          "down), and none of fewer than 4; --min-clients=4 asks for as many\n"));
  EXPECT_THAT(said({"--robust=krum:0.2", "--min-clients=3"}),
              HasSubstr("warning: --robust=krum:0.2: leaves out 2 of 10 updates, and none of fewer "
                        "than 5; --min-clients=5 asks for as many\n"));
  EXPECT_EQ(said({"--robust=trimmed:0.2", "--min-clients=5"}).find("warning"), std::string::npos);
}

// A line for each option that has changed, and none for the others.
TEST_F(SimulateTest, ResumedWithOtherOptionsIsSaid) {
  const Flags kept = {"--clients=5", "--test-every=0", "--checkpoint-dir=" + Path("state")};
  ASSERT_EQ(Simulate(kept + Flags{"--rounds=1"}).exit_code, 0);
  const Flags resumed = kept + Flags{"--rounds=1", "--resume"};
  EXPECT_EQ(Simulate(resumed).text.find("warning"), std::string::npos);
  const std::pair<std::string, std::string> changes[] = {
      {"--learning-rate=0.1", "the first learning rate of a client was 0.05 and is now 0.1"},
      {"--batch-size=8", "the --batch-size was 16 and is now 8"},
      {"--num-epochs=2", "the --num-epochs was 1 and is now 2"},
      {"--optimizer-momentum=0.25", "the momentum of the optimizer was 0.5 and is now 0.25"},
      {"--robust=median", "the --robust was none and is now median"},
      {"--max-update-norm=7", "the --max-update-norm was 0 and is now 7"},
      {"--drop-out=0.25", "the --drop-out was 0 and is now 0.25"}};
  Flags all = resumed;
  for (const auto& [flag, message] : changes) all.push_back(flag);
  const Outcome outcome = Simulate(all);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  for (const auto& [flag, message] : changes) {
    EXPECT_THAT(outcome.text,
                HasSubstr("simulate: warning: resumed federation: " + message + "\n"));
  }
  EXPECT_EQ(testing::Count(outcome.text, "warning: "), int(std::size(changes))) << outcome.text;
  WriteDigits("train", 310);
  EXPECT_THAT(Simulate(resumed).text,
              HasSubstr("resumed federation: the number of samples was 320 and is now 310\n"));
}

TEST_F(SimulateTest, HelpIsGrouped) {
  const std::string help = Process(kSimulate, {"--help"}).Wait().text;
  size_t at = 0;
  for (const char* title : {"\nThe federation:\n", "\nThe aggregator:\n", "\nEach client:\n",
                            "\nIts samples:\n", "\nProtection:\n", "\nFiles:\n"}) {
    const size_t found = help.find(title);
    EXPECT_NE(found, help.npos) << title;
    EXPECT_GT(found, at) << title;
    at = found;
  }
  EXPECT_THAT(Process(kSimulate, {"--help=split"}).Wait().text, HasSubstr("--split=DIVISION"));
}

}  // namespace
}  // namespace dtnn

// Counters of a folder tree of our own, laid out as Linux lays out its own.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/energy/energy_meter.h"
#include "models/observe/energy/energy_source.h"
#include "tensor/status_macros.h"
#include "tensor/stopwatch.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Tree {
 public:
  explicit Tree(const std::string& name) : root_(::testing::TempDir() + "/" + name) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  void Zone(const std::string& zone, const std::string& name, int64_t microjoules,
            int64_t range = 262'143'328'850) const {
    Write(zone + "/name", name);
    Write(zone + "/energy_uj", std::to_string(microjoules));
    Write(zone + "/max_energy_range_uj", std::to_string(range));
  }
  std::string path() const { return root_.string(); }

 private:
  const std::filesystem::path root_;
};

TEST(PowercapTest, PackagesAndTheirMemoryAreAddedUpOnce) {
  const Tree tree("packages");
  tree.Zone("intel-rapl:0", "package-0", 1'000'000);
  tree.Zone("intel-rapl:0:0", "core", 500'000);
  tree.Zone("intel-rapl:0:1", "uncore", 100'000);
  tree.Zone("intel-rapl:0:2", "dram", 2'000'000);
  tree.Zone("intel-rapl:1", "package-1", 3'000'000);
  tree.Zone("intel-rapl:2", "psys", 9'000'000);
  const auto source = OpenPowercap(tree.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->Describe(), "package-0, dram, package-1");
  EXPECT_EQ((*source)->Joules().value(), 0);
  tree.Zone("intel-rapl:0", "package-0", 1'500'000);
  tree.Zone("intel-rapl:0:0", "core", 900'000);
  tree.Zone("intel-rapl:0:2", "dram", 2'250'000);
  tree.Zone("intel-rapl:1", "package-1", 4'000'000);
  tree.Zone("intel-rapl:2", "psys", 19'000'000);
  EXPECT_DOUBLE_EQ((*source)->Joules().value(), 0.5 + 0.25 + 1);
}

TEST(PowercapTest, CountersThatBeginAnewGoOn) {
  const Tree tree("wraps");
  tree.Zone("intel-rapl:0", "package-0", 9'000'000, 10'000'000);
  const auto source = OpenPowercap(tree.path());
  ASSERT_TRUE(source.ok()) << source.status();
  tree.Zone("intel-rapl:0", "package-0", 2'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ((*source)->Joules().value(), 3);
  tree.Zone("intel-rapl:0", "package-0", 1'000'000, 10'000'000);
  EXPECT_DOUBLE_EQ((*source)->Joules().value(), 12);
}

// Also where there is one; and a power meter does not come before them.
TEST(HwmonTest, SocketsAreCountedAndCoresAreNot) {
  using Sockets = std::vector<std::string>;
  for (const Sockets& sockets : {Sockets{"65", "66"}, Sockets{"65"}}) {
    const Tree tree("sockets" + std::to_string(sockets.size()));
    tree.Write("hwmon0/name", "power_meter");
    tree.Write("hwmon0/power1_average", "250000000");
    tree.Write("hwmon1/name", "amd_energy");
    tree.Write("hwmon1/energy1_label", "Ecore000");
    tree.Write("hwmon1/energy1_input", "77");
    for (const std::string& socket : sockets) {
      tree.Write("hwmon1/energy" + socket + "_label", "Esocket" + socket);
      tree.Write("hwmon1/energy" + socket + "_input", "1000000");
    }
    const auto source = FindEnergySource("/no/such/folder", tree.path());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->Describe(), sockets.size() == 2 ? "2 sockets" : "1 socket");
    tree.Write("hwmon1/energy1_input", "7777777");
    tree.Write("hwmon1/energy65_input", "1500000");
    EXPECT_DOUBLE_EQ((*source)->Joules().value(), 0.5);
  }
}

TEST(HwmonTest, PowerIsAddedUpOverTime) {
  const Tree tree("meter");
  tree.Write("hwmon3/name", "power_meter");
  tree.Write("hwmon3/power1_average", "250000000");
  const Stopwatch longer;
  const auto source = OpenHwmon(tree.path());
  ASSERT_TRUE(source.ok()) << source.status();
  const Stopwatch shorter;
  const double first = (*source)->Joules().value();
  const double least = 250 * shorter.seconds();
  const double second = (*source)->Joules().value();
  EXPECT_GE(second, first);
  EXPECT_GE(second, least);
  EXPECT_LE(second, 250 * longer.seconds());
  tree.Write("hwmon3/power1_average", "0");
  EXPECT_EQ((*source)->Joules().value(), second);
}

TEST(EnergySourceTest, MachinesWithoutCountersSaySo) {
  const Tree tree("nothing");
  const absl::Status status = FindEnergySource(tree.path(), tree.path()).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(
      std::string(status.message()),
      StartsWith("this machine tells no energy: " + tree.path() + ": has no zones of RAPL"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no power meter"));
}

TEST(EnergySourceTest, BrokenCountersAreErrors) {
  for (const char* text : {"", "x", "-1", "1.5", "99999999999999999999"}) {
    const Tree tree("broken");
    tree.Zone("intel-rapl:0", "package-0", 1);
    tree.Write("intel-rapl:0/energy_uj", text);
    const absl::Status status = OpenPowercap(tree.path()).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << text << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("intel-rapl:0/energy_uj: holds"));
  }
}

// Gives the answers of its list, in turn.
class Scripted : public EnergySource {
 public:
  explicit Scripted(std::vector<absl::StatusOr<double>> answers) : answers_(std::move(answers)) {}
  std::string Describe() const override { return "scripted"; }
  absl::StatusOr<double> Joules() override { return answers_.at(next_++); }

 private:
  const std::vector<absl::StatusOr<double>> answers_;
  size_t next_ = 0;
};

// An epoch of a batch that takes `seconds`.
void RunEpoch(EnergyMeter& meter, double& now, double seconds, int64_t before = 0) {
  Pass pass{.epochs = 9, .samples = 100, .done = before};
  ASSERT_TRUE(meter.OnPassBegin(pass).ok());
  now += seconds;
  pass.done = 100;
  ASSERT_TRUE(meter.OnBatchEnd(pass).ok());
  ASSERT_TRUE(meter.OnEpochEnd(pass, nullptr).ok());
}

TEST(EnergyMeterTest, EpochsHaveWhatTheCountersGainedMeanwhile) {
  double now = 0;
  EnergyMeter meter(
      {.source = std::make_unique<Scripted>(std::vector<absl::StatusOr<double>>{1, 5, 7, 8, 17}),
       .clock = [&] { return now; }});
  EXPECT_EQ(meter.Report(), "");
  RunEpoch(meter, now, 1);
  EXPECT_EQ(meter.epoch_joules(), 4);
  RunEpoch(meter, now, 30, 50);  // long enough for a reading in between
  EXPECT_EQ(meter.epoch_joules(), 10);
  EXPECT_EQ(meter.watts(), 14.0 / 31);
  EXPECT_EQ(meter.Report(),
            "**** Energy: 14 J in 2 epochs (scripted), 0.09333 J per training sample\n");
}

TEST(EnergyMeterTest, CountersThatFailAreOneWarning) {
  double now = 0;
  std::vector<std::string> warnings;
  EnergyMeter meter({.source = std::make_unique<Scripted>(std::vector<absl::StatusOr<double>>{
                         1, 5, absl::DataLossError("the counter is gone")}),
                     .warn = [&](std::string_view line) { warnings.emplace_back(line); },
                     .clock = [&] { return now; }});
  RunEpoch(meter, now, 1);
  RunEpoch(meter, now, 1);
  EXPECT_EQ(meter.epoch_joules(), std::nullopt);
  RunEpoch(meter, now, 1);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0],
            "energy is not measured any more: the counter is gone; training continues");
  EXPECT_EQ(meter.Report(), "**** Energy: 4 J in 1 epoch, 0.04 J per training sample\n");
}

// Counters of two machines; the last rank is on one of them.
TEST(EnergyMeterTest, MachinesAreAddedUp) {
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    const int rank = communicator.rank();
    double now = 0;
    EnergyMeterOptions options = {
        .expected = rank < 2, .communicator = &communicator, .clock = [&] { return now; }};
    if (rank < 2) {
      options.source =
          std::make_unique<Scripted>(rank == 0 ? std::vector<absl::StatusOr<double>>{1, 5}
                                               : std::vector<absl::StatusOr<double>>{0, 70});
    }
    EnergyMeter meter(std::move(options));
    RunEpoch(meter, now, 10);
    EXPECT_EQ(meter.epoch_joules(), 74) << rank;
    EXPECT_EQ(meter.watts(), 7.4) << rank;
    if (rank == 0) {
      EXPECT_EQ(
          meter.Report(),
          "**** Energy: 74 J in 1 epoch (scripted; 2 machines), 0.74 J per training sample\n");
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(EnergyMeterTest, MachinesThatTellNothingAreNamedOnce) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    double now = 0;
    std::vector<std::string> warnings;
    EnergyMeterOptions options = {
        .communicator = &communicator,
        .warn = [&](std::string_view line) { warnings.emplace_back(line); },
        .clock = [&] { return now; }};
    if (communicator.rank() == 0) {
      options.source = std::make_unique<Scripted>(std::vector<absl::StatusOr<double>>{1, 5, 7, 9});
    }
    EnergyMeter meter(std::move(options));
    RunEpoch(meter, now, 1);
    RunEpoch(meter, now, 1);
    EXPECT_EQ(meter.epoch_joules(), 2);
    EXPECT_THAT(warnings, ::testing::ElementsAre("energy lacks that of the machines of rank 1, "
                                                 "which do not tell theirs"));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(EnergyMeterTest, OneRankOfAHostReadsItsCounters) {
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    DTNN_ASSIGN_OR_RETURN(const bool first, FirstOnItsHost(communicator));
    EXPECT_EQ(first, communicator.rank() == 0);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

class Readings : public Observer {
 public:
  void Begin(const Event&) override { ++begun; }
  void End(const Event& event) override {
    EXPECT_EQ(event.activity, Activity::kEnergy);
    EXPECT_GE(event.end, event.begin);
    microjoules.push_back(event.bytes);
  }

  int begun = 0;
  std::vector<int64_t> microjoules;
};

TEST(EnergyMeterTest, ATraceHasReadingsOftenEnoughToSeePowerChange) {
  double now = 0;
  EnergyMeter meter(
      {.source = std::make_unique<Scripted>(std::vector<absl::StatusOr<double>>{1, 2.5, 4}),
       .clock = [&] { return now; }});
  Readings readings;
  {
    const ScopedObserver watching(&readings);
    RunEpoch(meter, now, 0.2);
  }
  EXPECT_EQ(readings.begun, 3);
  EXPECT_EQ(readings.microjoules, (std::vector<int64_t>{1'000'000, 2'500'000, 4'000'000}));
}

}  // namespace
}  // namespace dtnn

// The aggregator and its clients as programs: real processes with parts of a data set of their own.

#include "apps/aggregator/testing/federation_programs.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/array_file.h"
#include "tensor/files/npz.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using testing::FlatJpeg;
using ::testing::HasSubstr;
using testing::kAggregator;
using testing::kClient;
using testing::kKeyText;
using testing::Outcome;
using testing::Process;
using FederationProgramsTest = testing::FederationPrograms;

// A folder of `classes`, whose images are of one colour each.
void MakeFolder(const std::string& path, const std::vector<std::string>& classes) {
  const std::string all = "abc";
  for (const std::string split : {"train", "test"}) {
    for (const std::string& name : classes) {
      const std::string folder = path + "/" + split + "/" + name;
      std::filesystem::create_directories(folder);
      for (int i = 0; i < 12; ++i) {
        std::array<uint8_t, 3> rgb = {uint8_t(5 * i), uint8_t(60 - 5 * i), 30};
        const size_t number = all.find(name);
        rgb[number == std::string::npos ? 0 : number] = 250;
        const std::vector<uint8_t> bytes = FlatJpeg(16, 16, rgb);
        std::ofstream(folder + "/" + std::to_string(i) + ".jpg", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
      }
    }
  }
}

// Numbers of classes below `classes`, in a .npz file.
void MakeArchive(const std::string& path, int64_t classes) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, Shape{24, 3, 16, 16}));
  const Tensor y = Must(Tensor::Zeros(DType::kInt32, Shape{24}));
  for (int64_t i = 0; i < 24; ++i) {
    y.data<int32_t>()[i] = int32_t(i % classes);
    x.data<float>()[i * 3 * 256 + (i % classes) * 256] = 1;
  }
  Must(WriteNpz(path, {{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", y}}));
}

TEST_F(FederationProgramsTest, AllProtectionsGiveThePlainModel) {
  const std::vector<float> plain = RunAll("");
  ASSERT_GT(plain.size(), 10000u);
  for (const char* encryption : {"masked", "tenseal", "openfhe"}) {
    EXPECT_LT(Distance(RunAll(encryption), plain), 1e-4) << encryption;
  }
  EXPECT_GT(Distance(RunAll("", {"--strategy=fedavgm"}), plain), 1e-6) << "another strategy";
  std::ifstream history(folder_ + "/history.csv"), clients(folder_ + "/clients.csv");
  std::string line;
  std::getline(history, line);
  EXPECT_EQ(line,
            "epoch,categorical_cross_entropy,categorical_accuracy,clients,samples,attempts,"
            "seconds,bytes_sent,bytes_received");
  std::getline(history, line);
  EXPECT_TRUE(line.starts_with("1,")) << line;
  EXPECT_THAT(line, HasSubstr(",4,320,1,"));
  int lines = 0;
  while (std::getline(clients, line)) ++lines;
  EXPECT_EQ(lines, 1 + 2 * 4);
  std::ifstream file(folder_ + "/run.html");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(page, HasSubstr("Training has ended: 2 of 2 epochs"));
  EXPECT_THAT(page, HasSubstr("at least 4 a round, by fedavgm"));
}

// Clients, and the aggregator, are killed and started again; all rounds are done in the end: with
// masks, and with a buffer.
class KilledProgramsTest : public FederationProgramsTest,
                           public ::testing::WithParamInterface<bool> {};

INSTANTIATE_TEST_SUITE_P(All, KilledProgramsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "buffered" : "masked"; });

TEST_P(KilledProgramsTest, ProcessesThatAreKilledComeBack) {
  std::vector<std::string> options = {"--rounds=16",       "--min-clients=2",
                                      "--deadline=20",     "--checkpoint-dir=" + folder_ + "/state",
                                      "--resume=if-there", "--strategy=fedadam"};
  std::vector<std::string> of_clients;
  options.push_back("--history-file=" + folder_ + "/history.csv");
  if (!GetParam()) of_clients.push_back("--encryption=masked");
  options.push_back(GetParam() ? "--buffer-size=2" : "--encryption=masked");
  auto aggregator = Aggregator(options);
  std::vector<std::unique_ptr<Process>> clients;
  for (int k = 1; k <= 4; ++k) clients.push_back(Client(k, of_clients, 640));
  std::mt19937_64 random(20261123);
  // Which round an aggregator begins with that was killed, nobody knows.
  for (const std::string round : {"2: ", "3: ", "", ""}) {
    ASSERT_TRUE(aggregator->ReadUntil("**** Round " + round));
    usleep(useconds_t(random() % 100'000));
    if (round == "3: ") {
      aggregator->Signal(SIGKILL);
      aggregator->Wait();
      aggregator = Aggregator(options);
      continue;
    }
    const size_t victim = random() % clients.size();
    clients[victim]->Signal(SIGKILL);
    clients[victim]->Wait();
    clients[victim] = Client(int(victim) + 1, of_clients, 640);
  }
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 16: "));
  for (const auto& client : clients) {
    const Outcome ended = client->Wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.text;
    EXPECT_THAT(ended.text, HasSubstr("**** The federation has ended after 16 rounds"));
  }
  const std::vector<float> end = Parameters("state/checkpoint-16.npz");
  for (int k = 1; k <= 4; ++k) {
    EXPECT_EQ(Parameters("client-" + std::to_string(k) + ".npz"), end) << k;
  }
  EXPECT_EQ(outcome.text.find(", staleness ") != std::string::npos, GetParam()) << outcome.text;
  const std::string history = testing::Contents(folder_ + "/history.csv");
  EXPECT_EQ(history.find(",staleness,too_stale\n") != std::string::npos, GetParam()) << history;
}

// A new aggregator continues with the settings of the state, or not at all.
TEST_F(FederationProgramsTest, ResumedWithOtherSettingsIsRefused) {
  const auto run = [&](const std::string& encryption, const std::string& state, int rounds,
                       std::vector<std::string> more) {
    std::vector<std::string> of_all, of_clients;
    if (!encryption.empty()) of_all = {"--encryption=" + encryption};
    of_clients = of_all;
    if (encryption == "tenseal") of_clients.push_back("--encryption-key-file=" + folder_ + "/key");
    more.insert(more.end(),
                {"--resume=if-there", "--min-clients=2", "--rounds=" + std::to_string(rounds),
                 "--checkpoint-dir=" + folder_ + "/" + state});
    more.insert(more.end(), of_all.begin(), of_all.end());
    const auto aggregator = Aggregator(more);
    if (rounds > 1) return aggregator->Wait();
    const auto one = Client(1, of_clients), two = Client(2, of_clients);
    return aggregator->Wait();
  };
  EXPECT_EQ(run("", "plain", 1, {}).exit_code, 0);
  Outcome outcome = run("", "plain", 2, {"--strategy=fedadam"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text,
              HasSubstr("with the strategy \"wavg\"; this one has \"fedadam\". Give the options"));
  outcome = run("", "plain", 1, {"--robust=norm:5", "--client-fraction=0.5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("aggregator: warning: resumed federation: the --robust was "
                                      "none and is now norm:5\n"));
  EXPECT_THAT(outcome.text, HasSubstr("the --client-fraction was 1 and is now 0.5\n"));
  EXPECT_THAT(run("masked", "plain", 2, {}).text,
              HasSubstr("updates have \"no encryption\"; this one has \"masks\""));
  EXPECT_EQ(run("tenseal", "encrypted", 1, {}).exit_code, 0);
  EXPECT_THAT(run("", "encrypted", 2, {}).text, HasSubstr("this one has \"no encryption\""));
  EXPECT_THAT(run("tenseal", "encrypted", 2, {"--strategy=avg"}).text,
              HasSubstr("this one has \"avg\""));
  // Clients with another key than that of the sum.
  Must(WritePrivateFile(folder_ + "/other", std::string(40, 'o')));
  const auto aggregator =
      Aggregator({"--resume", "--min-clients=1", "--rounds=2", "--encryption=tenseal",
                  "--checkpoint-dir=" + folder_ + "/encrypted"});
  outcome =
      Client(1, {"--encryption=tenseal", "--encryption-key-file=" + folder_ + "/other"})->Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("it has another key than this federation's clients"));
  EXPECT_EQ(Client(1, {"--encryption=tenseal", "--encryption-key-file=" + folder_ + "/key"})
                ->Wait()
                .exit_code,
            0);
  EXPECT_EQ(aggregator->Wait().exit_code, 0);
}

// Room for two checkpoints and no third. What was saved is whole, and the run continues from it.
TEST_F(FederationProgramsTest, AFullDiskEndsTheAggregatorAndSpoilsNothing) {
  const std::string small = folder_ + "/small";
  mkdir(small.c_str(), 0700);
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("small", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "cannot mount a small disk here";
  }
  const std::vector<std::string> options = {"--rounds=4", "--min-clients=2", "--resume=if-there",
                                            "--checkpoint-dir=" + small};
  {
    const auto aggregator = Aggregator(options);
    const auto one = Client(1), two = Client(2);
    const Outcome outcome = aggregator->Wait();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.text, HasSubstr("No space left on device"));
    EXPECT_THAT(outcome.text, HasSubstr(small));
    EXPECT_THAT(outcome.text, HasSubstr("**** Round 2: "));
  }
  EXPECT_TRUE(ArrayFileReader::Open(small + "/checkpoint-2.npz").ok());
  ASSERT_EQ(mount("small", small.c_str(), "tmpfs", MS_REMOUNT, "size=20m"), 0);
  const auto aggregator = Aggregator(options);
  const auto one = Client(1), two = Client(2);
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("2 rounds to do"));
  umount(small.c_str());
}

// The folder of the files vanishes after the first round: a warning for each, and one at the end.
TEST_F(FederationProgramsTest, FilesThatCannotBeWrittenDoNotEndTheRounds) {
  const std::string gone = folder_ + "/gone";
  ASSERT_TRUE(std::filesystem::create_directory(gone));
  const auto aggregator =
      Aggregator({"--rounds=8", "--min-clients=2", "--history-file=" + gone + "/rounds.csv",
                  "--clients-file=" + gone + "/clients.csv"});
  const auto one = Client(1), two = Client(2);
  ASSERT_TRUE(aggregator->ReadUntil("**** Round 1: "));
  std::filesystem::rename(gone, folder_ + "/elsewhere");
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 8: 2 of 2 clients"));
  for (const std::string what : {"the history", "the file of clients"}) {
    EXPECT_EQ(testing::Count(outcome.text, "warning: " + what + " is not written: "), 1)
        << outcome.text;
  }
  for (const std::string name : {"/rounds.csv", "/clients.csv"}) {
    EXPECT_THAT(outcome.text,
                HasSubstr(gone + name + ": is incomplete, without the rounds after "));
  }
  EXPECT_EQ(one->Wait().exit_code, 0);
  EXPECT_EQ(two->Wait().exit_code, 0);
}

TEST_F(FederationProgramsTest, AFolderWithoutRoundsIsNotContinued) {
  for (const std::string why : {" does not exist; ", " contains no round; "}) {
    const Outcome outcome = Aggregator({"--resume", "--rounds=1", "--min-clients=1",
                                        "--checkpoint-dir=" + folder_ + "/x"})
                                ->Wait();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.text, HasSubstr("--resume: " + folder_ + "/x" + why +
                                        "--resume=if-there begins a new federation then"));
    EXPECT_EQ(std::filesystem::create_directory(folder_ + "/x"), why == " does not exist; ")
        << "the first made none";
  }
}

// Epsilon grows from round to round, also where another process continues.
TEST_F(FederationProgramsTest, DifferentialPrivacyIsAccountedFor) {
  const std::vector<std::string> privacy = {"--dp-clip=1", "--dp-noise=2", "--dp-quantile=0.5"};
  std::vector<double> epsilons, clips, below;
  for (const int rounds : {2, 3}) {
    std::vector<std::string> options = privacy;
    options.insert(options.end(), {"--rounds=" + std::to_string(rounds), "--min-clients=2",
                                   "--resume=if-there", "--checkpoint-dir=" + folder_ + "/state",
                                   "--history-file=" + folder_ + "/history.csv"});
    const auto aggregator = Aggregator(options);
    const auto one = Client(1, privacy), two = Client(2, privacy);
    const Outcome outcome = aggregator->Wait(), of_client = one->Wait();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(", to the aggregator "));
    EXPECT_THAT(of_client.text, HasSubstr(": epsilon at most "));
  }
  std::ifstream history(folder_ + "/history.csv");
  std::string line;
  std::getline(history, line);
  EXPECT_EQ(line,
            "epoch,clients,samples,attempts,seconds,bytes_sent,bytes_received,epsilon,"
            "epsilon_aggregator,clip,below_clip");
  while (std::getline(history, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    epsilons.push_back(std::stod(fields[8]));
    clips.push_back(std::stod(fields[9]));
    below.push_back(std::stod(fields[10]));
  }
  ASSERT_EQ(epsilons.size(), 3u);
  // One release with noise 2 is (2.2, 1e-5)-private, three are not much worse than by sqrt(3).
  EXPECT_NEAR(epsilons[0], 2.2, 0.3);
  EXPECT_GT(epsilons[1], 1.3 * epsilons[0]);
  EXPECT_GT(epsilons[2], 1.1 * epsilons[1]);
  EXPECT_EQ(clips[0], 1);
  for (const size_t round : {1u, 2u}) {  // the last one by another process
    const double share = std::clamp(below[round - 1], -1.0, 2.0);
    EXPECT_NEAR(clips[round], clips[round - 1] * std::exp(-0.2 * (share - 0.5)),
                1e-4 * clips[round]);
  }
  EXPECT_THAT(Aggregator({"--dp-noise=1"})->Wait().text, HasSubstr("--dp-clip"));
  EXPECT_EQ(Aggregator({"--dp-clip=1"})->Wait().exit_code, kExitUsage);
}

// Whether the memory of a process holds these bytes anywhere.
bool Holds(pid_t pid, std::string_view bytes) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_GE(memory, 0);
  bool found = false;
  std::string line, buffer;
  while (!found && std::getline(maps, line)) {
    unsigned long begin = 0, end = 0;
    char readable = 0;
    if (sscanf(line.c_str(), "%lx-%lx %c", &begin, &end, &readable) != 3 || readable != 'r')
      continue;
    buffer.resize(std::min<size_t>(end - begin, size_t{1} << 30));
    const ssize_t n = pread(memory, buffer.data(), buffer.size(), off_t(begin));
    if (n <= 0) continue;
    found = std::string_view(buffer).substr(0, size_t(n)).find(bytes) != std::string_view::npos;
  }
  close(memory);
  return found;
}

// The key that clients share, and what is made of it, is in the memory of clients, not in the
// aggregator's: it has had no chance to see it.
TEST_F(FederationProgramsTest, TheAggregatorNeverHoldsTheClientsKey) {
  const auto aggregator =
      Aggregator({"--rounds=100000", "--min-clients=2", "--encryption=tenseal"});
  const std::vector<std::string> options = {"--encryption=tenseal",
                                            "--encryption-key-file=" + folder_ + "/key"};
  const auto one = Client(1, options), two = Client(2, options);
  ASSERT_TRUE(aggregator->ReadUntil("**** Round 2: "));
  const Secret key =
      Must(Must(JobSecret::Of(kKeyText)).Derive("DTNN federation: key of the clients"));
  const std::string_view bytes(reinterpret_cast<const char*>(key.bytes().data()), Secret::kSize);
  EXPECT_TRUE(Holds(one->pid(), bytes)) << "or this test looks for the wrong thing";
  EXPECT_FALSE(Holds(aggregator->pid(), bytes));
  EXPECT_FALSE(Holds(aggregator->pid(), kKeyText));
  EXPECT_TRUE(Holds(aggregator->pid(), "simplecnn8"));
}

// No client has all of the classes, and by their own numbers b would be 1 for one and 0 for the
// other.
TEST_F(FederationProgramsTest, ClientsWithSomeOfTheClassesLearnAll) {
  MakeFolder(folder_ + "/ab", {"a", "b"});
  MakeFolder(folder_ + "/bc", {"b", "c"});
  MakeFolder(folder_ + "/bx", {"b", "x"});
  MakeFolder(folder_ + "/abc", {"a", "b", "c"});
  std::ofstream(folder_ + "/names") << "a\nb\nc\n";
  const std::vector<std::string> all = {"a", "b", "c"};
  {
    const auto aggregator =
        OwnAggregator({"--model=simplecnn8", "--dataset=folder", "--input-shape=3,16,16",
                       "--class-names=" + folder_ + "/names", "--min-clients=2", "--rounds=10"});
    const Outcome other = OwnClient("bx", "folder", folder_ + "/bx")->Wait();
    EXPECT_EQ(other.exit_code, kExitFailed);
    EXPECT_THAT(other.text, HasSubstr("the classes 2 (\"b\", \"x\"), which do not fit 3 (\"a\", "
                                      "\"b\", \"c\"), the aggregator's"));
    const auto one = OwnClient("ab", "folder", folder_ + "/ab");
    const auto two = OwnClient("bc", "folder", folder_ + "/bc");
    const Outcome outcome = aggregator->Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("simplecnn8, samples of 16x16x3, 3 outputs, "));
    for (const auto& client : {&one, &two}) {
      const Outcome ended = (*client)->Wait();
      EXPECT_EQ(ended.exit_code, 0) << ended.text;
    }
  }
  EXPECT_EQ(ClassesOf("ab.safetensors"), all);
  EXPECT_EQ(Parameters("ab.safetensors"), Parameters("bc.safetensors"));
  // The model tells all three apart, and another federation begins with its file alone.
  const std::string model = "--weights-and-bias-filename=" + folder_ + "/ab.safetensors";
  const Outcome tested = Process(kClient, {"--evaluate-only", model, "--dataset=folder",
                                           "--dataset-path=" + folder_ + "/abc"})
                             .Wait();
  EXPECT_THAT(tested.text, HasSubstr("acc: 100.00%")) << tested.text;
  const auto aggregator = OwnAggregator({model, "--rounds=1", "--min-clients=1"});
  const Outcome outcome = OwnClient("bc", "folder", folder_ + "/bc", "1e-9")->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("Round 1/1, epoch 2/2: "));
  EXPECT_LT(Distance(Parameters("bc.safetensors"), Parameters("ab.safetensors")), 1e-5);
  EXPECT_EQ(ClassesOf("bc.safetensors"), all);
  EXPECT_EQ(aggregator->Wait().exit_code, 0);
  // With --model too, its classes are those of the file.
  const std::vector<std::string> again = {
      "--model=simplecnn8", "--dataset=folder", "--input-shape=3,16,16", model,
      "--rounds=1",         "--min-clients=1"};
  const auto named = OwnAggregator(again);
  const Outcome third = OwnClient("ab2", "folder", folder_ + "/ab")->Wait();
  ASSERT_EQ(third.exit_code, 0) << third.text;
  EXPECT_EQ(ClassesOf("ab2.safetensors"), all);
  EXPECT_EQ(named->Wait().exit_code, 0);
  std::ofstream(folder_ + "/cab") << "c\na\nb\n";
  std::vector<std::string> other = again;
  other.push_back("--class-names=" + folder_ + "/cab");
  EXPECT_THAT(OwnAggregator(other)->Wait().text,
              HasSubstr("ab.safetensors has other names, or another order; omit --class-names"));
  other.back() = "--num-classes=4";
  EXPECT_THAT(OwnAggregator(other)->Wait().text,
              HasSubstr("--num-classes=4: " + folder_ + "/ab.safetensors names 3 classes"));
}

// The aggregator's images are gone when the round ends.
TEST_F(FederationProgramsTest, ATestThatFailsIsAWarning) {
  MakeFolder(folder_ + "/own", {"a", "b"});
  MakeFolder(folder_ + "/ab", {"a", "b"});
  const auto aggregator =
      OwnAggregator({"--model=simplecnn8", "--dataset=folder", "--input-shape=3,16,16",
                     "--dataset-path=" + folder_ + "/own", "--class-names=" + folder_ + "/own",
                     "--rounds=1", "--min-clients=1"});
  ASSERT_TRUE(aggregator->ReadUntil("waits for clients"));
  std::filesystem::rename(folder_ + "/own/test", folder_ + "/elsewhere");
  const Outcome client = OwnClient("ab", "folder", folder_ + "/ab")->Wait();
  EXPECT_EQ(client.exit_code, 0) << client.text;
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Tests the parameters on 24 samples of its own\n"));
  EXPECT_THAT(outcome.text, HasSubstr("aggregator: warning: round 1: no test: "));
}

TEST_F(FederationProgramsTest, AClientWithSamplesOfAnotherSizeIsToldBothSizes) {
  const auto aggregator = Aggregator({"--rounds=1", "--min-clients=1"});
  const Outcome client = Client(1, {"--synthetic-input-shape=3,8,9"})->Wait();
  EXPECT_EQ(client.exit_code, kExitFailed) << client.text;
  EXPECT_THAT(client.text, HasSubstr("  transport                      : tcp\n"));
  EXPECT_THAT(
      client.text,
      HasSubstr("refuses this client: its samples are of 8x9x3 (height x width x channels), "
                "the aggregator's network takes samples of 28x28x1\n"));
}

// Clients build the network by its name.
TEST_F(FederationProgramsTest, AFileWhoseNetworkNoClientCanBuildIsRefusedAtOnce) {
  const std::string file = folder_ + "/model.safetensors";
  ASSERT_EQ(Process(kClient, {"--model=simplecnn8", "--dataset=synthetic", "--num-epochs=1",
                              "--synthetic-input-shape=1,8,8", "--synthetic-train-samples=20",
                              "--save-model=" + file})
                .Wait()
                .exit_code,
            0);
  const auto error = [&](const std::vector<std::pair<std::string, std::string>>& replacements) {
    std::string bytes = testing::Contents(file);
    for (const auto& [from, to] : replacements) bytes = absl::StrReplaceAll(bytes, {{from, to}});
    std::ofstream(folder_ + "/other.safetensors") << bytes;
    const Outcome outcome =
        OwnAggregator({"--weights-and-bias-filename=" + folder_ + "/other.safetensors"})->Wait();
    EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(
      error({{"simplecnn8", "my_network"}}),
      HasSubstr("other.safetensors: no client can build its network (--model=my_network: "));
  // Names of the same length, since the file's header has it.
  EXPECT_THAT(error({{R"(simplecnn8\")", R"(simplecnn\" )"}, {R"(simplecnn8")", R"(simplecnn" )"}}),
              HasSubstr("(--model=simplecnn: has other layers or options); a federation"));
}

TEST_F(FederationProgramsTest, ClassesThatAreCountedBecomeAsManyAsTheAggregators) {
  MakeArchive(folder_ + "/two.npz", 2);
  MakeArchive(folder_ + "/three.npz", 3);
  MakeFolder(folder_ + "/ab", {"a", "b"});
  const auto aggregator =
      OwnAggregator({"--model=simplecnn8", "--dataset=archive", "--input-shape=3,16,16",
                     "--num-classes=3", "--min-clients=2", "--rounds=2"});
  const Outcome nameless = OwnClient("ab", "folder", folder_ + "/ab")->Wait();
  EXPECT_EQ(nameless.exit_code, kExitFailed);
  EXPECT_THAT(nameless.text, HasSubstr("start it with --class-names=FILE"));
  const auto one = OwnClient("one", "archive", folder_ + "/two.npz");
  const auto two = OwnClient("two", "archive", folder_ + "/three.npz");
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_EQ(one->Wait().exit_code, 0);
  EXPECT_EQ(two->Wait().exit_code, 0);
  EXPECT_EQ(Parameters("one.safetensors"), Parameters("two.safetensors"));
}

// Before it waits for clients, whose rounds would be lost.
TEST_F(FederationProgramsTest, WhatCannotBeWrittenIsRefusedAtOnce) {
  const auto refused = [&](const std::string& option, const std::string& file,
                           const std::string& why) {
    const Outcome outcome = Aggregator({"--rounds=1", "--min-clients=1", option + file})->Wait();
    EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(file)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(why)) << outcome.text;
    EXPECT_EQ(outcome.text.find("waits for clients"), std::string::npos) << outcome.text;
  };
  for (const auto& [option, name] :
       {std::pair("--save-model=", "x.npz"), std::pair("--save-model=", "x.safetensors"),
        std::pair("--history-file=", "x.csv"), std::pair("--clients-file=", "x.csv"),
        std::pair("--report=", "x.html"), std::pair("--checkpoint-dir=", "x")}) {
    refused(option, std::string("/proc/self/missing/") + name, "/proc/self/missing");
    if (option == std::string("--checkpoint-dir=")) continue;
    const std::string foreign = folder_ + "/" + name;
    std::ofstream(foreign) << "epoch,accuracy,loss\n1,.5,.7\n";
    refused(option, foreign, "would be overwritten");
  }
}

TEST_F(FederationProgramsTest, WhatDoesNotFitIsAUsageError) {
  const auto usage = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(usage(Aggregator({"--strategy=fedadam", "--encryption=tenseal"})->Wait()),
              HasSubstr("--strategy=fedadam: needs the mean"));
  EXPECT_THAT(usage(Aggregator({"--max-update-norm=3", "--encryption=masked"})->Wait()),
              HasSubstr("--max-update-norm: needs updates"));
  EXPECT_THAT(usage(Aggregator({"--encryption=openfhe", "--encryption-global-scale=40"})->Wait()),
              HasSubstr("--encryption=openfhe with "));
  EXPECT_THAT(usage(Aggregator({"--encryption=masked", "--min-clients=1"})->Wait()),
              HasSubstr("--min-clients=1: --encryption=masked needs 2 or more"));
  for (const char* dataset : {"archive", "folder"}) {
    const std::string own = std::string("--dataset=") + dataset;
    EXPECT_THAT(usage(Aggregator({own})->Wait()),
                HasSubstr(own + ": the files of clients decide its samples (--input-shape="
                                "CHANNELS,HEIGHT,WIDTH) and classes (--num-classes=N or "
                                "--class-names=FILE), which the aggregator does not see; "));
    EXPECT_THAT(usage(Aggregator({own, "--num-classes=3"})->Wait()),
                HasSubstr("decide its samples (--input-shape=CHANNELS,HEIGHT,WIDTH), which"));
    EXPECT_THAT(usage(Aggregator({own, "--input-shape=3,9,9"})->Wait()),
                HasSubstr("decide its classes (--num-classes=N or --class-names=FILE), which"));
  }
  EXPECT_THAT(usage(Aggregator({"--input-shape=3,9"})->Wait()),
              HasSubstr("--input-shape=3,9: must be three whole numbers"));
  std::ofstream(folder_ + "/names") << "a\nb\n";
  EXPECT_THAT(usage(Aggregator({"--num-classes=3", "--class-names=" + folder_ + "/names"})->Wait()),
              HasSubstr("/names names 2 classes"));
  EXPECT_THAT(usage(Process(kAggregator, {"--rounds=1"}).Wait()),
              HasSubstr("--model: missing; name a network"));
  EXPECT_THAT(usage(Aggregator({"--report=run.pdf"})->Wait()), HasSubstr("--report=run.pdf: "));
  EXPECT_THAT(usage(Aggregator({"--history-file=a.csv", "--clients-file=./a.csv"})->Wait()),
              HasSubstr("--history-file and --clients-file=./a.csv: are one file"));
  EXPECT_THAT(usage(Aggregator({"--robust=trimmed:0.01"})->Wait()),
              HasSubstr("--robust=trimmed:0.01: of 64 updates, the most of a round, it leaves out "
                        "0.64, which is none"));
  EXPECT_THAT(usage(Aggregator({"--min-clients=65", "--robust=median"})->Wait()),
              HasSubstr("--min-clients=65: --robust=median averages 64 updates at most"));
  EXPECT_THAT(
      usage(Aggregator({"--min-clients=256", "--encryption=masked"})->Wait()),
      HasSubstr("--min-clients=256: --encryption=masked adds up 255 updates at most; 1024 with "
                "--mask-neighbours, where masks are not shared with all others"));
  EXPECT_THAT(usage(Aggregator({"--min-clients=65", "--encryption=openfhe"})->Wait()),
              HasSubstr("--min-clients=65: --encryption=openfhe adds up 64 updates at most"));
  for (const std::string transport : {"grpc", "mqtt"}) {
    EXPECT_THAT(
        usage(Aggregator({"--min-clients=65", "--encryption=masked", "--transport=" + transport})
                  ->Wait()),
        HasSubstr("--min-clients=65: rounds by gRPC or MQTT take 64 clients at most; give "
                  "no more, or --transport=tcp"));
  }
  EXPECT_THAT(usage(Aggregator({"--min-clients=65", "--max-connections=64"})->Wait()),
              HasSubstr("--max-connections=64: a round needs 65 clients (--min-clients)"));
  EXPECT_THAT(usage(Aggregator({"--address=nowhere"})->Wait()), HasSubstr("--address: "));
  EXPECT_THAT(usage(Client(1, {"--client-name=a b"})->Wait()), HasSubstr("--client-name: "));
  EXPECT_THAT(usage(Client(1, {"--server=:5"})->Wait()), HasSubstr("--server: "));
  unsetenv("DTNN_JOB_SECRET");
  EXPECT_THAT(usage(Aggregator({})->Wait()), HasSubstr("DTNN_JOB_SECRET"));
}

TEST_F(FederationProgramsTest, ATakenPortIsNamedWithItsOption) {
  const Socket taken = *Listen({.host = "127.0.0.1"});
  const std::string address = StrCat("127.0.0.1:", taken.Local()->port);
  EXPECT_THAT(Aggregator({"--address=" + address})->Wait().text,
              HasSubstr("--address: cannot listen at " + address + ": Address already in use"));
}

TEST_F(FederationProgramsTest, AFileThatIsMissingIsNotAUsageError) {
  const auto failed = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(failed(Aggregator({"--class-names=" + folder_ + "/none"})->Wait()),
              HasSubstr("--class-names: " + folder_ +
                        "/none: there is no such file or folder; expected a file with "
                        "one name per line, or a folder with one folder per class"));
  EXPECT_THAT(
      failed(Client(1, {"--encryption=tenseal", "--encryption-key-file=" + folder_ + "/nokey"})
                 ->Wait()),
      HasSubstr("--encryption-key-file: "));
}

}  // namespace
}  // namespace dtnn

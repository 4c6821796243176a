#include "models/run/federated/federation_options.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include "comm/ranks/job/exit_code.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Packets call it by a number that it draws, which says nothing to people.
TEST(FederationOptionsTest, AClientThatWaitsInVainIsNamed) {
  for (const Transport transport : {Transport::kGrpc, Transport::kMqtt}) {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);  // the reader overwrites it
    RunOptions options;
    // Free now: a connection to it is refused.
    options.federation.server =
        Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local()).ToString();
    options.ranks.transport = transport;
    options.federation.client_name = "north";
    const ClientPlace place = Must(FindClientPlace(options));
    EXPECT_EQ(place.identity.name, "north");
    const auto datagrams = Must(place.meeting.place.datagrams(place.meeting.secret));
    CommunicatorOptions patience;
    patience.timeout = std::chrono::milliseconds(1);
    const absl::Status status = datagrams->Open({.rank = 965326943, .number = 1}, {}, patience);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith("client north has waited "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(options.federation.server));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("rank ")));
  }
}

TEST(FederationOptionsTest, FactsAreOfWhatIsExchanged) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(3).BatchNorm().Relu().Flatten().Fc(2).Softmax();
  const Graph graph = *b.Build();
  const auto context = Must(DeviceContext::Create(Device::Cpu()));
  const auto store = Must(ParameterStore::Create(graph, *context, DType::kFloat32, 1));
  RunOptions options;
  const auto facts = [&](const std::string& local) {
    options.federation.local_parameters = local;
    return Must(ModelFactsOf(graph, *store, Must(FindExchanged(options, graph, *store))));
  };
  const federation::ModelFacts all = facts("");
  EXPECT_EQ(all.values, uint64_t(store->unfrozen().num_elements()));
  EXPECT_EQ(all.local, Hash{});
  const federation::ModelFacts some = facts("*_gamma");
  EXPECT_LE(some.values, all.values - 3) << "of 3 channels";
  EXPECT_EQ(all.values - some.values, all.trainable - some.trainable);
  EXPECT_EQ(some.network, all.network);
  EXPECT_NE(some, facts("*_beta")) << "as many, but others";
  EXPECT_EQ(some, facts("*BatchNormalization_gamma,*_gamma")) << "in other words";
  options.federation.local_parameters = "*_gamma,other";
  const absl::Status refused = FindExchanged(options, graph, *store).status();
  EXPECT_EQ(ExitCodeOf(refused), kExitUsage);
  EXPECT_EQ(refused.message(),
            "RunOptions::federation.local_parameters: \"other\" matches no parameter of model net "
            "that training changes; keys are such as \"12_Conv2D_weights\"");
  // Differential privacy needs statistics that stay.
  options = {};
  options.federation.dp_clip = options.federation.dp_noise = 1;
  EXPECT_THAT(std::string(CheckProtection(options, all).message()),
              HasSubstr("RunOptions::federation.local_parameters=*_running_* keeps them"));
  EXPECT_EQ(CheckProtection(options, facts("*_running_*")), absl::OkStatus());
  options.federation.dp_quantile = 0.5;
  EXPECT_EQ(CheckProtection(options, facts("*_running_*")), absl::OkStatus());
  options.encryption.kind = "tenseal";
  EXPECT_EQ(CheckProtection(options, facts("*_running_*")).message(),
            "RunOptions::federation.dp_quantile: not with RunOptions::encryption.kind=tenseal: the "
            "clip follows the mean of what clients say of their updates, which only clients could "
            "read");
}

TEST(FederationOptionsTest, FilesThatAreMissingAreNotUsageErrors) {
  RunOptions options;
  setenv("DTNN_JOB_SECRET_FILE", "/no/such/secret", 1);
  const absl::Status secret = FindClientPlace(options).status();
  unsetenv("DTNN_JOB_SECRET_FILE");
  EXPECT_EQ(ExitCodeOf(secret), kExitFailed) << secret;
  EXPECT_EQ(ExitCodeOf(FindClientPlace(options).status()), kExitUsage) << "no secret at all";
  setenv("PYMPI_SSL", "yes", 1);
  setenv("PYMPI_SSL_CERT", "/no/such/certificate", 1);
  setenv("PYMPI_SSL_KEY", "/no/such/key", 1);
  for (const Transport transport : {Transport::kTcp, Transport::kGrpc, Transport::kMqtt}) {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
    options.ranks.transport = transport;
    const absl::Status certificate = FindClientPlace(options).status();
    EXPECT_EQ(ExitCodeOf(certificate), kExitFailed) << certificate;
    EXPECT_THAT(std::string(certificate.message()), HasSubstr("/no/such/certificate"));
  }
  for (const char* const name : {"PYMPI_SSL", "PYMPI_SSL_CERT", "PYMPI_SSL_KEY"}) unsetenv(name);
}

// The aggregator knows it, so it would protect from nobody that matters.
TEST(FederationOptionsTest, TheJobsSecretIsNoKeyOfTheClients) {
  const std::string folder = std::string(std::getenv("TEST_TMPDIR"));
  const std::string secret(40, 'q');
  Must(WritePrivateFile(folder + "/secret", secret + "\n"));
  Must(WritePrivateFile(folder + "/other", std::string(40, 'r') + "\n"));
  for (const char* const encryption : {"masked", "tenseal", "openfhe"}) {
    RunOptions options;
    options.encryption.kind = encryption;
    options.encryption.key_file = folder + "/secret";
    setenv("DTNN_JOB_SECRET", secret.c_str(), 1);
    const absl::Status status = FindClientPlace(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("RunOptions::encryption.key_file: holds the job's secret"));
    options.encryption.key_file = folder + "/other";
    setenv("DTNN_JOB_SECRET", secret.c_str(), 1);
    const ClientPlace place = Must(FindClientPlace(options));
    EXPECT_TRUE(place.key.has_value());
    EXPECT_EQ(place.meeting.warning, "");
  }
}

TEST(FederationOptionsTest, AnIdentityIsAKeyInAFileAndTheAggregatorsKey) {
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/north.key";
  const Secret secret = Must(RandomSecret());
  Must(WriteEd25519File(path, secret));
  RunOptions options;
  options.federation.client_name = "north";
  const auto find = [&] {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
    return FindClientPlace(options);
  };
  EXPECT_EQ(Must(find()).identity.key_file, "");
  EXPECT_EQ(Must(find()).identity.aggregator, std::nullopt);
  options.federation.identity_key_file = path;
  options.federation.aggregator_key = ToText(Must(Ed25519PublicKeyOf(secret)));
  const ClientPlace place = Must(find());
  EXPECT_EQ(place.identity.name, "north");
  EXPECT_EQ(place.identity.key_file, path);
  EXPECT_EQ(place.identity.aggregator, Must(Ed25519PublicKeyOf(secret)));
  options.federation.aggregator_key.pop_back();
  EXPECT_EQ(ExitCodeOf(find().status()), kExitUsage);
  EXPECT_THAT(std::string(find().status().message()),
              StartsWith("RunOptions::federation.aggregator_key: is not the 44 characters"));
  options.federation.identity_key_file += "s";
  EXPECT_EQ(ExitCodeOf(find().status()), kExitFailed);
  EXPECT_THAT(std::string(find().status().message()),
              StartsWith("RunOptions::federation.identity_key_file: "));
}

TEST(FederationOptionsTest, HiddenUpdatesWithoutAKeyAreWarnedOf) {
  RunOptions options;
  options.encryption.kind = "openfhe";
  setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
  EXPECT_THAT(
      Must(FindClientPlace(options)).meeting.warning,
      HasSubstr("RunOptions::encryption.kind=openfhe without RunOptions::encryption.key_file"));
}

}  // namespace
}  // namespace dtnn

#include "models/run/federated/federation_options.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
    EXPECT_EQ(place.name, "north");
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

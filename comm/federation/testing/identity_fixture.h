// A federation whose clients prove their names, by a list that tests change.

#ifndef DTNN_COMM_FEDERATION_TESTING_IDENTITY_FIXTURE_H_
#define DTNN_COMM_FEDERATION_TESTING_IDENTITY_FIXTURE_H_

#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "comm/federation/testing/federation_fixture.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {

// Clients 0 to 2 are on the list, and the aggregator has a key too.
class IdentityTest : public FederationTest {
 protected:
  IdentityTest() {
    for (int client = 0; client < 5; ++client) NewKey(client);
    WriteList({0, 1, 2});
    options_.allowed_clients = list_;
    options_.identity = Must(RandomSecret());
    options_.rounds = 2;
    tune_ = [this](int client, ClientOptions& options) {
      options.identity_key_file = KeyFile(client);
      options.aggregator_key = Must(Ed25519PublicKeyOf(*options_.identity));
    };
  }

  static std::string KeyFile(int client) {
    return ::testing::TempDir() + "/client-" + std::to_string(client) + ".key";
  }
  void NewKey(int client) {
    const Secret secret = Must(RandomSecret());
    Must(WriteEd25519File(KeyFile(client), secret));
    keys_[client] = Must(Ed25519PublicKeyOf(secret));
  }
  void WriteList(const std::vector<int>& clients) {
    const std::string other = list_ + ".new";
    std::ofstream file(other);
    for (const int client : clients) {
      file << "client-" << client << " " << ToText(keys_.at(client)) << "\n";
    }
    file.close();
    chmod(other.c_str(), 0644);
    ASSERT_EQ(std::rename(other.c_str(), list_.c_str()), 0);
  }
  // Why such a client is refused; it ends.
  std::string RefusalOf(const ClientOptions& options) {
    const absl::Status status = Must(FederationClient::Create(options, Job()))->Next().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  }
  // What keeps such a client from an aggregator that it expects; it calls again until its time is
  // over.
  std::string TroubleOf(ClientOptions options) {
    options.timeout = std::chrono::seconds(2);
    const absl::Status status = Must(FederationClient::Create(options, Job()))->Next().status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return std::string(status.message());
  }
  // Clients 0 to 2, when that was said.
  void StartAll(const std::string& after = "", const Train& train = nullptr) {
    for (int client = 0; client < 3; ++client) Start(client, train, after);
  }

  const std::string list_ = ::testing::TempDir() + "/allowed";
  std::map<int, Ed25519PublicKey> keys_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_IDENTITY_FIXTURE_H_

// Debian's mosquitto as a broker of a test's own, at a free port of the loopback address.

#ifndef DTNN_COMM_TRANSPORT_MQTT_TESTING_TEST_BROKER_H_
#define DTNN_COMM_TRANSPORT_MQTT_TESTING_TEST_BROKER_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "comm/transport/tcp/testing/rank_processes.h"

namespace dtnn::testing {

// Whether this machine has it. Tests are skipped where it has not, and say so.
bool HasBroker();

class TestBroker {
 public:
  // `folder`: with files for TLS (comm/transport/tls/testing/host_files.h), which clients must show
  // too; empty: without. `settings`: further lines of its configuration.
  explicit TestBroker(const std::string& folder = "", const std::string& settings = "");
  ~TestBroker() { Kill(); }
  TestBroker(const TestBroker&) = delete;
  TestBroker& operator=(const TestBroker&) = delete;

  uint16_t port() const { return port_; }
  void Kill();
  // Again, at the same port.
  void Start();

 private:
  uint16_t port_ = 0;
  std::string configuration_;
  pid_t pid_ = -1;
};

// Joins the others through the broker at that port.
Join JoinByMqtt(uint16_t port, const std::string& folder = "");

}  // namespace dtnn::testing

#endif  // DTNN_COMM_TRANSPORT_MQTT_TESTING_TEST_BROKER_H_

//===- schedule_test.cpp - Learning rates against closed forms ------------===//

#include "test/runtime/Check.h"
#include "tools/frit-train/Schedule.h"

#include <cmath>

using namespace frit::test;
using frit::train::Schedule;

static Schedule parse(const char *text) {
  Schedule schedule;
  CHECK(!Schedule::parse(text, schedule));
  return schedule;
}

static bool near(double a, double b) { return std::fabs(a - b) < 1e-15; }

static void testConstant() {
  for (const char *text : {"3e-4", "constant:3e-4"}) {
    Schedule schedule = parse(text);
    CHECK(schedule.at(0, 10, 5) == 3e-4);
    CHECK(schedule.at(9, 10, 5) == 3e-4);
    CHECK(schedule.at(99, 10, 5) == 3e-4);
  }
}

static void testWarmup() {
  Schedule schedule = parse("constant:0.4,warmup=4");
  CHECK(near(schedule.at(0, 100, 10), 0.1));
  CHECK(near(schedule.at(1, 100, 10), 0.2));
  CHECK(near(schedule.at(3, 100, 10), 0.4));
  CHECK(near(schedule.at(4, 100, 10), 0.4));
  // in epochs
  schedule = parse("constant:0.4,warmup=2ep");
  CHECK(near(schedule.at(4, 100, 5), 0.2));
  CHECK(near(schedule.at(10, 100, 5), 0.4));
  // longer than the run
  schedule = parse("cosine:1,warmup=100");
  CHECK(near(schedule.at(9, 10, 10), 0.1));
}

static void testLinear() {
  Schedule schedule = parse("linear:1,warmup=10,min=0.5");
  CHECK(near(schedule.at(9, 110, 10), 1));
  CHECK(near(schedule.at(10, 110, 10), 1));
  CHECK(near(schedule.at(35, 110, 10), 0.875));
  CHECK(near(schedule.at(109, 110, 10), 1 - 0.5 * 0.99));
  CHECK(schedule.at(110, 110, 10) == schedule.at(109, 110, 10));
}

static void testCosine() {
  Schedule schedule = parse("cosine:3e-4,warmup=100,min=1e-5");
  CHECK(near(schedule.at(49, 1100, 10), 1.5e-4));
  CHECK(near(schedule.at(100, 1100, 10), 3e-4));
  CHECK(near(schedule.at(600, 1100, 10), (3e-4 + 1e-5) / 2));
  CHECK(near(schedule.at(350, 1100, 10),
             1e-5 + 2.9e-4 * (1 + std::sqrt(0.5)) / 2));
  CHECK(schedule.at(1099, 1100, 10) < 1.001e-5);
  for (uint64_t step = 100; step < 1099; ++step)
    CHECK(schedule.at(step + 1, 1100, 10) < schedule.at(step, 1100, 10));
}

static void testSteps() {
  Schedule schedule = parse("step:0.1,every=30ep,gamma=0.5,min=0.02");
  CHECK(near(schedule.at(0, 9000, 100), 0.1));
  CHECK(near(schedule.at(2999, 9000, 100), 0.1));
  CHECK(near(schedule.at(3000, 9000, 100), 0.05));
  CHECK(near(schedule.at(8999, 9000, 100), 0.025));
  CHECK(near(schedule.at(8999, 9000, 50), 0.02));
  schedule = parse("step:1,warmup=10,every=10");
  CHECK(near(schedule.at(19, 100, 100), 1));
  CHECK(near(schedule.at(20, 100, 100), 0.1));
}

/// Rates of torch.optim.lr_scheduler.PolynomialLR(total_iters=10), and a power.
static void testPolynomial() {
  Schedule schedule = parse("polynomial:0.5");
  for (uint64_t step = 0; step < 10; ++step)
    CHECK(near(schedule.at(step, 10, 5), 0.5 * (1 - double(step) / 10)));
  schedule = parse("polynomial:0.5,power=2,min=0.1,warmup=50%");
  CHECK(near(schedule.at(4, 10, 5), 0.5));
  CHECK(near(schedule.at(5, 10, 5), 0.5));
  CHECK(near(schedule.at(7, 10, 5), 0.1 + 0.4 * 0.36));
  CHECK(near(schedule.at(9, 10, 5), 0.1 + 0.4 * 0.04));
}

/// Rates of torch.optim.lr_scheduler.OneCycleLR(max_lr=0.1, total_steps=…).
static void testOneCycle() {
  Schedule schedule = parse("onecycle:0.1");
  const double tenth[] = {0.004,
                          0.052,
                          0.1,
                          0.09504846320134738,
                          0.08117456539497631,
                          0.06112620219362893,
                          0.03887419780637107,
                          0.018825834605023697,
                          0.004951936798652614,
                          4e-07};
  for (uint64_t step = 0; step < 10; ++step)
    CHECK(near(schedule.at(step, 10, 5), tenth[step]));
  // pct_start=0.25, div_factor=10, final_div_factor=100: the top is between
  // two steps.
  schedule = parse("onecycle:0.1,warmup=25%,div=10,final_div=100");
  const double six[] = {0.01,
                        0.09698764640825613,
                        0.07502500000000001,
                        0.041376273525536834,
                        0.011786080066207053,
                        0.0001};
  for (uint64_t step = 0; step < 6; ++step)
    CHECK(near(schedule.at(step, 6, 6), six[step]));
  // One step of warm-up begins at the top.
  schedule = parse("onecycle:0.1,warmup=1");
  CHECK(near(schedule.at(0, 10, 10), 0.1));
  CHECK(schedule.at(9, 10, 10) == schedule.at(99, 10, 10));
}

static void testErrors() {
  Schedule schedule;
  for (const char *text : {"",
                           "fast",
                           "cosine",
                           "cosine:",
                           "cosine:-1",
                           "cosine:nan",
                           "cosine:1,",
                           "cosine:1,warmup",
                           "cosine:1,warmup=",
                           "cosine:1,warmup=x",
                           "cosine:1,warmup=-3",
                           "cosine:1,min=2",
                           "cosine:1,gamma=0.1",
                           "step:1",
                           "step:1,every=0",
                           "exponential:1",
                           "constant:1,min=0.1",
                           "1e999",
                           "onecycle:1,min=0.1",
                           "onecycle:1,div=0",
                           "onecycle:1,final_div=-1",
                           "cosine:1,warmup=101%",
                           "polynomial:1,power=x",
                           "linear:1,power=2",
                           "cosine:1,warmup=%"})
    CHECK(Schedule::parse(text, schedule).status() == frit::tools::kBadUsage);
}

int main() {
  testConstant();
  testWarmup();
  testLinear();
  testCosine();
  testSteps();
  testPolynomial();
  testOneCycle();
  testErrors();
  return finish("schedule_test");
}

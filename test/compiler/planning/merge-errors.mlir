// RUN: frit-opt %s --merge-plans -verify-diagnostics

module {
  module @m {
    // expected-error@+1 {{has 0 main lists; each is merged from a module of its own}}
    plan.target "sm_90a" attributes {} {
    }
  }
}

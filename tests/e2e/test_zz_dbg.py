from tests.e2e.test_demo_feedback import *
def test_dbg(room, answered):
    with opened(room) as page:
        frames=[]
        page.on("websocket", lambda ws: (ws.on("framesent", lambda f: frames.append(("out", str(f)[:200]))), ws.on("framereceived", lambda f: frames.append(("in", str(f)[:300])))))
        page.reload()
        answer = page.locator(".message.by-agent")
        answer.locator("summary").click()
        answer.locator("textarea").evaluate("area => (area.value = 'nothing \\0 much')")
        print(answer.locator("textarea").evaluate("area => JSON.stringify(area.value)"))
        answer.locator("[type=submit]").click()
        page.wait_for_timeout(3000)
        for f in frames: print(f)
        print(answer.inner_html()[:1500])
